#include "converter/onnx/load.h"

#include <map>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/memory_limit.h"
#include "converter/onnx/arena.h"
#include "converter/onnx/cut.h"
#include "converter/onnx/decode.h"
#include "converter/onnx/onnx.pb.h"

namespace tenon::converter::onnx {

namespace {

namespace fs = std::filesystem;

/// The files beside a model that hold its weights; each is mapped once. None outside of the model's folder.
class ExternalFiles {
 public:
  explicit ExternalFiles(const fs::path& model) : model_(model), folder_(fs::absolute(model).parent_path()) {}

  Storage read(const ExternalData& data) {
    const auto file = open(data.location);
    const auto all = file->bytes();
    if (data.offset > all.size() || data.length.value_or(0) > all.size() - data.offset)
      throw error("the data of a tensor, {} bytes at {}, lie beyond the end of the file ({} bytes)",
                  data.length.value_or(0), data.offset, all.size())
          .at(file->path().string())
          .hint("the file is cut, or of another model: copy or download it again");
    const auto part = all.subspan(data.offset, data.length.value_or(all.size() - data.offset));
    // Never written: the storage says so.
    auto* bytes = const_cast<std::byte*>(part.data());  // NOLINT(cppcoreguidelines-pro-type-const-cast)
    return {.owner = file, .data = bytes, .bytes = part.size(), .writable = false};
  }

 private:
  std::shared_ptr<const MappedFile> open(const std::string& location) {
    if (const auto known = files_.find(location); known != files_.end()) return known->second;
    const fs::path inside = fs::path(location).lexically_normal();
    if (location.empty() || inside.is_absolute() || *inside.begin() == "..")
      throw error("the model keeps weights in '{}', which is not a file in its own folder", location)
          .hint("put the file beside the model");
    std::error_code failure;
    if (!fs::exists(fs::symlink_status(folder_ / inside, failure)))
      throw error("{} keeps its weights in {}, which is missing", model_.filename().string(), location)
          .at(model_.string())
          .hint(fmt::format("copy or download {} too, into the folder of {}", location,
                            model_.filename().string()));
    const auto file = MappedFile::open_beneath(folder_, inside);
    MemoryLimit::extend(4 * file->bytes().size());  // weights may be copied in other orders and types
    return files_[location] = file;
  }

  fs::path model_, folder_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;
};

constexpr std::int64_t oldest_opset = 1, newest_opset = 28;

/// The first file formats had one operator set and did not name it.
constexpr std::int64_t last_format_without_opsets = 2;

void check(ModelProto& model) {
  if (model.opset_import().empty() && model.ir_version() <= last_format_without_opsets)
    model.add_opset_import()->set_version(1);
  if (model.opset_import().empty()) throw error("the model does not say which operator set it uses");
  const auto version = version_of(model.opset_import(), "");
  if (version && (*version < oldest_opset || *version > newest_opset))
    throw unsupported("the model uses operator set {}; Tenon reads {} to {}", *version, oldest_opset,
                      newest_opset)
        .hint("convert it: onnx.version_converter.convert_version(model, 21)");
  if (model.graph().output().empty()) throw error("the model has no outputs");
}

void decode(Bytes bytes, ModelProto& model) {
  try {
    decode_model(bytes, model);
  } catch (const Error& e) {
    if (e.code() != Exit::bad_input || !e.hint().empty()) throw;
    throw error("the file is cut or damaged, or no ONNX model: {}", e.message())
        .at(e.where())
        .hint("download or export it again");
  }
}

}  // namespace

Model::Model() : proto(on_own_arena<ModelProto>()) {}

Tensor Model::tensor(const TensorProto& t) const {
  return parse_tensor_proto(message_of(bytes, t), file, external).tensor;
}

Tensor Model::tensor(const SparseTensorProto& t) const {
  constexpr std::int64_t most_elements = std::int64_t{1} << 28;
  const auto damaged = [&](std::string_view what) {
    return error("the sparse tensor '{}' {}", t.values().name(), what);
  };
  const Tensor values = tensor(t.values()), indices = tensor(t.indices());
  std::int64_t count = 1;
  const Index dims(t.dims().begin(), t.dims().end());
  for (const std::int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(count, d, &count)) throw damaged("has a size that is none");
  if (count > most_elements)
    throw unsupported("the sparse tensor '{}' has {} elements with its zeros; at most {} are made",
                      t.values().name(), count, most_elements);
  const auto rank = static_cast<std::int64_t>(dims.size());
  const bool by_place = indices.rank() == 1;
  const bool fits = values.rank() == 1 && indices.dtype() == DType::i64 &&
                    indices.shape() == (by_place ? Index{values.numel()} : Index{values.numel(), rank});
  if (!fits)
    throw damaged("has " + values.type_string() + " values and " + indices.type_string() + " indices");
  if (is_string(values.dtype())) throw unsupported("the sparse tensor '{}' holds strings", t.values().name());
  Tensor flat = Tensor::zeros(values.dtype(), {count});
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    std::int64_t at = by_place ? indices.get_int(std::array{i}) : 0;
    for (std::int64_t axis = 0; !by_place && axis < rank; ++axis) {
      const std::int64_t index = indices.get_int(std::array{i, axis}),
                         size = dims[static_cast<std::size_t>(axis)];
      if (index < 0 || index >= size) throw damaged("has an index outside");
      at = at * size + index;
    }
    if (at < 0 || at >= count) throw damaged("has an index outside");
    flat.slice(0, at, at + 1).copy_from(values.slice(0, i, i + 1));
  }
  return flat.reshape(dims);
}

Model load(const fs::path& path) {
  const auto file = MappedFile::open(path);
  Model model;
  try {
    decode(file->bytes(), *model.proto);
    check(*model.proto);
  } catch (Error& e) {
    if (e.where().empty()) e.at(path.string());
    throw;
  }
  model.path = path;
  model.file = file;
  model.bytes = file->bytes();
  model.external = [files = std::make_shared<ExternalFiles>(path)](const ExternalData& d) {
    return files->read(d);
  };
  return model;
}

}  // namespace tenon::converter::onnx
