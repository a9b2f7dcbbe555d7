#include "converter/exported/archive.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/json.h"
#include "converter/archive/file_format.h"
#include "converter/exported/dtypes.h"

namespace tenon::exported {
namespace {

using nlohmann::json;
namespace ts = torchscript;

constexpr std::uint64_t kLargestText = 256u << 20;
constexpr std::uint64_t kLargestTotal = 512u << 20;  // JSON; a model of 3,000 nodes has 3 MB
constexpr std::int64_t kMostElements = std::int64_t{1} << 48;
constexpr std::int64_t kStrided = 7;  // torch._export.serde.schema.Layout
constexpr std::string_view kModels = "models/", kJson = ".json";

[[noreturn]] void malformed(std::string_view what) {
  throw error("the archive does not hold together: {}", what).hint("copy or export the file again");
}

std::shared_ptr<const MappedFile> opened(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  const DetectedFormat found = detect_format(file->bytes());
  if (found.kind == FileKind::pt2) return file;
  const bool is_program = found.kind == FileKind::pt2_before_2_9 || found.kind == FileKind::aot_inductor;
  throw Error(fmt::format("this is {}", found.what), is_program ? Exit::unsupported : Exit::bad_input)
      .hint(found.hint);
}

std::string only_model(const ZipReader& zip) {
  std::vector<std::string> names;
  for (const ZipMember& entry : zip.members()) {
    const std::string_view name = inside_root(entry.name);
    if (!name.starts_with(kModels) || !name.ends_with(kJson)) continue;
    names.emplace_back(name.substr(kModels.size(), name.size() - kModels.size() - kJson.size()));
  }
  if (names.size() == 1) return names[0];
  std::sort(names.begin(), names.end());
  throw unsupported("the archive holds {} models: {}", names.size(), fmt::join(names, ", "))
      .hint("save each with torch.export.save into a file of its own");
}

void check_entries(const ZipReader& zip) {
  std::uint64_t total = 0;
  for (const ZipMember& entry : zip.members()) {
    const std::string_view name = inside_root(entry.name);
    if (name == "byteorder" && zip.read_text(entry, 64) != "little") {
      throw unsupported("the file was written on a {}-endian machine", zip.read_text(entry, 64))
          .hint("save it again on a little-endian one");
    }
    if (!name.ends_with(kJson)) continue;
    total += entry.size;
    if (entry.size > kLargestText || total > kLargestTotal)
      throw error("the archive entry '{}' would be {} bytes of text", entry.name, entry.size);
  }
}

std::int64_t known_size(const json& size) { return size.at("as_int").get<std::int64_t>(); }

std::vector<std::int64_t> known_sizes(const json& list) {
  std::vector<std::int64_t> out;
  for (const json& size : list) out.push_back(known_size(size));
  return out;
}

/// Every element reached by sizes and strides must lie inside the bytes.
void check_inside(const ts::Tensor& t, const std::string& name) {
  std::int64_t count = 1, last = t.offset;
  const bool fits = t.sizes.size() == t.strides.size() && t.offset >= 0 && t.offset < kMostElements;
  if (!fits) malformed(fmt::format("the tensor {} has other strides than sizes", name));
  for (std::size_t d = 0; d < t.sizes.size(); ++d) {
    const bool is_sane =
        t.sizes[d] >= 0 && t.sizes[d] < kMostElements && t.strides[d] >= 0 && t.strides[d] < kMostElements;
    std::int64_t reach = 0;
    if (!is_sane || __builtin_mul_overflow(count, t.sizes[d], &count) || count > kMostElements ||
        __builtin_mul_overflow(std::max<std::int64_t>(t.sizes[d] - 1, 0), t.strides[d], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      malformed(fmt::format("the tensor {} is of negative or absurd size", name));
  }
  const auto held = static_cast<std::int64_t>(t.storage->bytes.size() / size_of(t.dtype));
  if (count > 0 && last >= held) malformed(fmt::format("the tensor {} reaches outside its bytes", name));
}

/// Tied weights share an entry; a file beside the archive names one of them.
void add_twins(const json& config, std::map<std::string, ts::IValue>& given) {
  std::map<std::string, ts::IValue> by_entry;
  const auto key = [](const json& record) {
    return record.at("path_name").get<std::string>() + record.at("tensor_meta").dump();
  };
  for (const auto& [name, record] : config.items())
    if (const auto found = given.find(name); found != given.end())
      by_entry.emplace(key(record), found->second);
  for (const auto& [name, record] : config.items())
    if (const auto twin = by_entry.find(key(record)); twin != by_entry.end())
      given.emplace(name, twin->second);
}

}  // namespace

Archive::Archive(const std::filesystem::path& path) : file_(opened(path)), zip_(file_->bytes()) {
  check_entries(zip_);
  zip_.check_stored();
  model_ = only_model(zip_);
  for (const ZipMember& entry : zip_.members())
    if (inside_root(entry.name) == fmt::format("{}{}{}", kModels, model_, kJson))
      root_ = entry.name.substr(0, entry.name.size() - inside_root(entry.name).size());
}

const ZipMember* Archive::find(const std::string& inside) const { return zip_.find(root_ + inside); }

std::string Archive::program() const {
  return zip_.read_text(*find(fmt::format("{}{}{}", kModels, model_, kJson)), kLargestText);
}

std::map<std::string, ts::IValue> Archive::read_tensors(ts::Program& p,
                                                        std::map<std::string, ts::IValue> given) const {
  std::map<std::string, ts::IValue> by_name;
  std::map<const ZipMember*, const ts::Storage*> storages;
  std::map<std::pair<const ZipMember*, std::string>, const ts::Tensor*> tensors;
  const auto read = [&](const std::string& folder, const std::string& name,
                        const json& record) -> ts::IValue {
    if (record.at("use_pickle").get<bool>())
      return ts::Unsupported{"a tensor of a class of its own (a quantized one, say), saved as a pickle"};
    const json& meta = record.at("tensor_meta");
    if (meta.is_null()) return ts::Unsupported{"an object that is not a tensor"};
    const auto dtype = dtype_of(meta.at("dtype").get<std::int64_t>());
    if (!dtype) return ts::Unsupported{"a tensor of a dtype that has no form here"};
    if (meta.at("layout").get<std::int64_t>() != kStrided) return ts::Unsupported{"a sparse tensor"};
    const std::string path = record.at("path_name").get<std::string>();
    const ZipMember* entry = find(fmt::format("data/{}/{}", folder, path));
    if (!entry && folder == "weights") return ts::None{};  // the program's reader lists them all
    if (!entry) malformed(fmt::format("the bytes of {} ({}) are missing", name, path));
    const auto [known, is_new] = tensors.try_emplace({entry, meta.dump()}, nullptr);
    if (!is_new) return known->second;
    const ts::Storage*& storage = storages[entry];
    if (!storage) storage = &p.storages.emplace_back(ts::Storage{zip_.stored(*entry), entry->data_offset});
    ts::Tensor& t = p.tensors.emplace_back();
    t = {.dtype = *dtype,
         .sizes = known_sizes(meta.at("sizes")),
         .strides = known_sizes(meta.at("strides")),
         .offset = known_size(meta.at("storage_offset")),
         .storage = storage};
    check_inside(t, name);
    return known->second = &t;
  };
  const bool are_given = !given.empty();
  for (const std::string folder : {"weights", "constants"}) {
    const ZipMember* entry = find(fmt::format("data/{}/{}_{}_config.json", folder, model_, folder));
    if (!entry) continue;
    const json config = parse_json(zip_.read_text(*entry, kLargestText));
    if (folder == "weights") add_twins(config.at("config"), given);
    for (const auto& [name, record] : config.at("config").items()) {
      const auto beside = given.find(name);
      const bool is_missing = are_given && folder == "weights";  // the program's reader lists them all
      if (!by_name
               .emplace(name, beside != given.end() ? beside->second
                              : is_missing          ? ts::IValue(ts::None{})
                                                    : read(folder, name, record))
               .second)
        malformed(fmt::format("two tensors are called {}", name));
    }
  }
  by_name.merge(given);
  return by_name;
}

}  // namespace tenon::exported
