// A file mapped read-only into memory.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "base/cut_file.h"

namespace tenon {

/// The bytes of a file, without reading them. A file that is cut while it is mapped ends the process where it
/// is read (base/cut_file.h).
class MappedFile {
 public:
  /// Throws Error when the path is missing, a folder, or may not be read.
  static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path);
  /// The same of a file below `folder`, whatever links are put there meanwhile. Throws Error where the path,
  /// or a link on it, leads out of the folder.
  static std::shared_ptr<const MappedFile> open_beneath(const std::filesystem::path& folder,
                                                        const std::filesystem::path& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  static std::shared_ptr<const MappedFile> map(int file, const std::filesystem::path& path);
  MappedFile(std::filesystem::path path, std::span<const std::byte> bytes)
      : path_(std::move(path)), bytes_(bytes), range_(bytes_, path_) {}
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
  MappedRange range_;
};

/// Where these bytes are of a mapped file, gives back the whole pages among them: who reads them again has
/// them read from the file.
void give_back_pages(std::span<const std::byte> bytes);

}  // namespace tenon
