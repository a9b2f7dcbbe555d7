// The container of a .pt2: which entries hold the program and the bytes of its tensors.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/mapped_file.h"
#include "base/zip.h"
#include "converter/torchscript/program.h"

namespace tenon::exported {

/// An archive written by torch.export.save of PyTorch 2.9 and later. Layout: PyTorch's
/// torch/export/pt2_archive/constants.py.
class Archive {
 public:
  /// Throws Error: no .pt2 of that kind (the hint says how to export one), damaged, several models in it,
  /// big-endian, entries that claim absurd sizes.
  explicit Archive(const std::filesystem::path& path);

  const std::shared_ptr<const MappedFile>& file() const { return file_; }
  /// The JSON of the program.
  std::string program() const;
  /// Puts weights and constants into the Program as ranges of the file; nothing is copied, and what shares
  /// an entry shares a storage. By name: "layer1.weight", "lifted_tensor_0". What has no form here is
  /// Unsupported. `given` takes the place of what the archive holds, or should hold.
  std::map<std::string, torchscript::IValue> read_tensors(
      torchscript::Program&, std::map<std::string, torchscript::IValue> given = {}) const;

 private:
  const ZipMember* find(const std::string& inside) const;

  std::shared_ptr<const MappedFile> file_;
  ZipReader zip_;
  std::string root_, model_;
};

}  // namespace tenon::exported
