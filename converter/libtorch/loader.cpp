// Loading a model file with LibTorch: TorchScript through a stream that remembers what was read where.
#include "converter/libtorch/loader.h"

#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/serialization/import.h>
#include <torch/csrc/jit/serialization/import_read.h>

#include <cstring>
#include <istream>
#include <streambuf>

#include "converter/archive/file_format.h"
#include "converter/libtorch/exported_module.h"
#include "converter/libtorch/operators.h"
#include "converter/libtorch/torchvision.h"

namespace tenon::libtorch {
namespace {

constexpr std::uint64_t kWorthSkipping = 64 << 10;
constexpr std::uint64_t kLargestPickle = 1 << 30;

class FileStream : public std::streambuf {
 public:
  FileStream(LoadedModule& loaded, Weights weights) : loaded_(loaded), bytes_(loaded.file->bytes()) {
    if (weights == Weights::read) return;
    for (const ZipMember& entry : loaded.zip->members()) {
      const bool is_weight = inside_root(entry.name).starts_with("data/");
      if (is_weight && entry.size >= kWorthSkipping) skipped_[entry.data_offset] = entry.size;
    }
  }

 protected:
  pos_type seekoff(off_type offset, std::ios_base::seekdir from, std::ios_base::openmode) override {
    const off_type base = from == std::ios_base::beg   ? 0
                          : from == std::ios_base::cur ? static_cast<off_type>(at_)
                                                       : static_cast<off_type>(bytes_.size());
    return seekpos(base + offset, std::ios_base::in);
  }
  pos_type seekpos(pos_type position, std::ios_base::openmode) override {
    if (position < 0 || position > static_cast<off_type>(bytes_.size())) return pos_type(off_type(-1));
    at_ = static_cast<std::uint64_t>(position);
    return position;
  }
  std::streamsize xsgetn(char* to, std::streamsize count) override {
    const auto size = std::min<std::uint64_t>(static_cast<std::uint64_t>(count), bytes_.size() - at_);
    const auto skipped = skipped_.find(at_);
    const bool is_skipped = skipped != skipped_.end() && skipped->second == size;
    if (!is_skipped && size > 0) std::memcpy(to, bytes_.data() + at_, size);
    loaded_.reads[to] = {at_, size};
    at_ += size;
    return static_cast<std::streamsize>(size);
  }

 private:
  LoadedModule& loaded_;
  std::span<const std::byte> bytes_;
  std::map<std::uint64_t, std::uint64_t> skipped_;  // offset → size
  std::uint64_t at_ = 0;
};

/// Gives the inputs of traced methods the shapes they were traced with, where the file has them.
void restore_inputs(LoadedModule& loaded) {
  FileStream buffer(loaded, Weights::skip);
  std::istream stream(&buffer);
  caffe2::serialize::PyTorchStreamReader reader(&stream);
  if (!reader.hasRecord("traced_inputs.pkl")) return;
  const c10::IValue traced = torch::jit::readArchiveAndTensors(
      "traced_inputs", "", "traced_inputs/", std::nullopt, std::nullopt, c10::Device(c10::kCPU), reader);
  for (const auto& entry : traced.toGenericDict()) {
    const auto method = loaded.module.find_method(entry.key().toStringRef());
    if (!method) continue;
    const auto graph = torch::jit::toGraphFunction(method->function()).graph();
    const auto inputs = entry.value().toListRef();
    if (graph->inputs().size() != inputs.size() + 1) continue;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].isTensor())
        graph->inputs()[i + 1]->setType(c10::TensorType::create(inputs[i].toTensor()));
    loaded.traced[&method->function()] = inputs.vec();
  }
}

/// Packed parameters are made of weights while the file is read: these must be there.
bool packs_weights(const ZipReader& zip) {
  for (const ZipMember& entry : zip.members()) {
    if (inside_root(entry.name) != "data.pkl") continue;
    const std::string pickle = zip.read_text(entry, kLargestPickle);
    return pickle.find("torch.classes.") != std::string::npos ||
           pickle.find("_rebuild_qtensor") != std::string::npos;
  }
  return false;
}

}  // namespace

LoadedModule load_module(const std::string& path, Weights weights, const std::string& weights_file) {
  register_torchvision();
  LoadedModule loaded;
  loaded.file = MappedFile::open(path);
  loaded.zip = std::make_unique<ZipReader>(loaded.file->bytes());
  loaded.unit = std::make_shared<torch::jit::CompilationUnit>();
  if (detect_format(loaded.file->bytes()).kind == FileKind::pt2) {
    loaded.module = load_exported(path, weights_file, loaded.unit);
    loaded.is_exported = true;
    return loaded;
  }
  declare_unknown_operators(*loaded.zip);
  FileStream buffer(loaded, packs_weights(*loaded.zip) ? Weights::read : weights);
  std::istream stream(&buffer);
  torch::jit::ExtraFilesMap no_extra_files;
  // LibTorch's own restoring of shapes writes out of bounds for a chunk along a negative axis.
  loaded.module = torch::jit::import_ir_module(loaded.unit, stream, c10::Device(c10::kCPU), no_extra_files,
                                               /*load_debug_files=*/true, /*restore_shapes=*/false);
  restore_inputs(loaded);
  return loaded;
}

void set_eval(const torch::jit::Module& module) {
  for (const torch::jit::Module& part : module.modules()) {
    const auto slot = part._ivalue()->type()->findAttributeSlot("training");
    if (slot) part._ivalue()->setSlot(*slot, false);
  }
}

}  // namespace tenon::libtorch
