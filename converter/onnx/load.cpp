#include "converter/onnx/load.h"

#include <map>

#include "base/error.h"
#include "base/mapped_file.h"
#include "converter/onnx/decode.h"

namespace tenon::converter::onnx {

namespace {

namespace fs = std::filesystem;

/// The files beside a model that hold its weights; each is mapped once. None outside of the model's folder.
class ExternalFiles {
 public:
  explicit ExternalFiles(const fs::path& model) : folder_(fs::absolute(model).parent_path()) {}

  Storage read(const ExternalData& data) {
    const auto file = open(data.location);
    const auto all = file->bytes();
    if (data.offset > all.size() || data.length.value_or(0) > all.size() - data.offset)
      throw error("the data of a tensor, {} bytes at {}, lie beyond the end of the file ({} bytes)",
                  data.length.value_or(0), data.offset, all.size())
          .at(file->path().string());
    const auto part = all.subspan(data.offset, data.length.value_or(all.size() - data.offset));
    // Never written: the storage says so.
    auto* bytes = const_cast<std::byte*>(part.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return {.owner = file, .data = bytes, .bytes = part.size(), .writable = false};
  }

 private:
  std::shared_ptr<const MappedFile> open(const std::string& location) {
    if (const auto known = files_.find(location); known != files_.end()) return known->second;
    std::error_code failure;
    const fs::path folder = fs::canonical(folder_, failure);
    const fs::path file = fs::weakly_canonical(folder / location, failure);
    const auto [end, ignored] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    if (location.empty() || fs::path(location).is_absolute() || failure || end != folder.end())
      throw error("the model keeps weights in '{}', which is not a file in its own folder", location)
          .hint("put the file beside the model");
    return files_[location] = MappedFile::open(file);
  }

  fs::path folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

constexpr std::int64_t oldest_opset = 1, newest_opset = 28;

void check(const ModelProto& model) {
  if (model.opset_import.empty()) throw error("the model does not say which operator set it uses");
  const auto it = model.opset_import.find("");
  if (it != model.opset_import.end() && (it->second < oldest_opset || it->second > newest_opset))
    throw unsupported("the model uses operator set {}; Tenon reads {} to {}", it->second, oldest_opset,
                      newest_opset)
        .hint("convert it: onnx.version_converter.convert_version(model, 21)");
  if (model.graph.sparse_initializers > 0)
    throw unsupported("the model has sparse weights (sparse_initializer)");
  if (model.graph.output.empty()) throw error("the model has no outputs");
}

}  // namespace

Tensor ModelProto::tensor(const TensorProto& t) const {
  return parse_tensor_proto(t.bytes, file, external).tensor;
}

ModelProto load(const fs::path& path) {
  const auto file = MappedFile::open(path);
  ModelProto model;
  try {
    model = decode_model(file->bytes());
    check(model);
  } catch (Error& e) {
    if (e.where().empty()) e.at(path.string());
    throw;
  }
  model.path = path;
  model.file = file;
  model.external = [files = std::make_shared<ExternalFiles>(path)](const ExternalData& d) {
    return files->read(d);
  };
  return model;
}

}  // namespace tenon::converter::onnx
