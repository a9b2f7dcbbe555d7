#include <algorithm>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "ir/safetensors.h"
#include "ir/safetensors_format.h"

namespace tenon {
namespace {

using namespace safetensors;
using nlohmann::json;

constexpr int max_header_depth = 4;

// The header: an object of objects. Refuses deeper nesting and names that stand twice in one object.
json parse_header(std::string_view text) {
  std::vector<std::set<std::string>> names(max_header_depth + 1);
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > max_header_depth) throw error("its header is nested too deeply");
    auto& here = names[static_cast<std::size_t>(depth)];
    if (event == json::parse_event_t::object_start && depth < max_header_depth)
      names[static_cast<std::size_t>(depth) + 1].clear();
    if (event == json::parse_event_t::key && !here.insert(parsed.get<std::string>()).second)
      throw error("its header names {} twice", parsed.get<std::string>());
    return true;
  };
  try {
    json header = json::parse(text, watch);
    if (!header.is_object()) throw error("its header is not a JSON object");
    return header;
  } catch (const json::exception&) { throw error("its header is not JSON: the file is damaged"); }
}

class SafetensorsReader {
 public:
  explicit SafetensorsReader(std::shared_ptr<const MappedFile> mapped) : mapped_(std::move(mapped)) {}

  Safetensors read() {
    const std::string_view text = header_bytes();
    const json header = parse_header(text);
    for (const auto& [name, entry] : header.items()) {
      if (name == "__metadata__") {
        read_metadata(entry);
      } else {
        read_tensor(name, entry);
      }
    }
    check_header(text);
    check_coverage();
    file_.path = mapped_->path();
    return std::move(file_);
  }

 private:
  std::string_view header_bytes() {
    const auto bytes = mapped_->bytes();
    if (bytes.size() < length_bytes)
      throw error("it has {} bytes, fewer than the length of a header takes", bytes.size());
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), length_bytes);
    if (length > max_header_bytes || length > bytes.size() - length_bytes)
      throw error("its header should take {} bytes, the file has {}", length, bytes.size());
    const auto header = bytes.subspan(length_bytes, static_cast<std::size_t>(length));
    data_ = bytes.subspan(length_bytes + header.size());
    storage_ = std::make_shared<const Storage>(
        Storage{mapped_, const_cast<std::byte*>(data_.data()), data_.size(), false});
    return {reinterpret_cast<const char*>(header.data()), header.size()};
  }

  void read_metadata(const json& entry) {
    if (!entry.is_object()) throw error("its metadata is not an object");
    for (const auto& [key, value] : entry.items()) {
      if (!value.is_string()) throw error("its metadata {} is not a string", key);
      file_.metadata[key] = value.get<std::string>();
    }
  }

  void read_tensor(const std::string& name, const json& entry) {
    const auto damaged = [&](const std::string& what) { return error("tensor {}: {}", name, what); };
    const bool complete = entry.is_object() && entry.contains("dtype") && entry.contains("shape") &&
                          entry.contains("data_offsets") && entry["dtype"].is_string() &&
                          entry["shape"].is_array() && entry["data_offsets"].is_array() &&
                          entry["data_offsets"].size() == 2;
    if (!complete) throw damaged("the entry lacks its dtype, shape or data_offsets");
    const auto dtype = dtype_of(entry["dtype"].get<std::string>());
    if (!dtype) throw damaged(fmt::format("{} is not a dtype", entry["dtype"].get<std::string>()));
    Index shape;
    for (const json& size : entry["shape"]) {
      if (!size.is_number_unsigned()) throw damaged("a size is not a whole number");
      shape.push_back(size.get<std::int64_t>());
    }
    for (const json& offset : entry["data_offsets"])
      if (!offset.is_number_unsigned()) throw damaged("an offset is not a whole number");
    const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
    const auto end = entry["data_offsets"][1].get<std::uint64_t>();
    if (begin > end || end > data_.size())
      throw damaged(
          fmt::format("bytes {} to {} lie outside of the {} bytes of data", begin, end, data_.size()));
    const std::uint64_t wanted = bytes_of(*dtype, shape, damaged);
    if (wanted != end - begin)
      throw damaged(fmt::format("it has {} bytes, its shape takes {}", end - begin, wanted));
    ranges_.push_back({begin, end, name});
    if (begin % size_of(*dtype) != 0) throw damaged("it does not begin at a multiple of its element size");
    Index strides = contiguous_strides(shape);
    const auto first = static_cast<std::int64_t>(begin / size_of(*dtype));
    file_.tensors[name] = Tensor::view_of(storage_, *dtype, std::move(shape), std::move(strides), first);
  }

  template <class F>
  static std::uint64_t bytes_of(DType dtype, const Index& shape, F damaged) {
    std::uint64_t bytes = size_of(dtype);
    for (const std::int64_t size : shape)
      if (size < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes))
        throw damaged("its shape is larger than any file");
    return bytes;
  }

  void check_header(std::string_view text) const {
    const auto found = file_.metadata.find(std::string(header_checksum_key));
    if (found == file_.metadata.end()) return;
    std::string blank(text);
    const std::string written = fmt::format("\"{}\":\"{}\"", header_checksum_key, found->second);
    const std::size_t at = blank.find(written);
    const bool plain = at != std::string::npos && found->second.size() == blank_checksum.size();
    if (plain)
      blank.replace(at + written.size() - 1 - blank_checksum.size(), blank_checksum.size(), blank_checksum);
    if (!plain || checksum(std::as_bytes(std::span(blank))) != found->second)
      throw error("its header does not agree with its checksum: the file is damaged");
  }

  // The data are the tensors' and nothing else: no gaps, no overlaps.
  void check_coverage() {
    std::sort(ranges_.begin(), ranges_.end());
    std::uint64_t at = 0;
    for (const Range& range : ranges_) {
      if (range.begin != at)
        throw error("tensor {} begins at byte {} of the data, expected {}", range.name, range.begin, at);
      at = range.end;
    }
    if (at != data_.size()) throw error("it has {} bytes of data, its tensors take {}", data_.size(), at);
  }

  struct Range {
    std::uint64_t begin, end;
    std::string name;
    auto operator<=>(const Range&) const = default;
  };

  std::shared_ptr<const MappedFile> mapped_;
  std::shared_ptr<const Storage> storage_;
  std::span<const std::byte> data_;
  std::vector<Range> ranges_;
  Safetensors file_;
};

}  // namespace

Safetensors read_safetensors(const std::filesystem::path& path) {
  try {
    return SafetensorsReader(MappedFile::open(path)).read();
  } catch (Error& e) {
    if (e.where().empty()) e.at(path.string());
    throw;
  }
}

void verify_checksums(const Safetensors& file) {
  const auto found = file.metadata.find(std::string(checksums_key));
  if (found == file.metadata.end()) throw error("it holds no checksums").at(file.path.string());
  const json checksums = parse_json_or_discard(found->second);
  for (const auto& [name, tensor] : file.tensors) {
    const auto bytes = static_cast<std::size_t>(tensor.numel()) * size_of(tensor.dtype());
    const bool listed = checksums.is_object() && checksums.contains(name) && checksums[name].is_string();
    if (!listed) throw error("tensor {} has no checksum", name).at(file.path.string());
    if (checksum({tensor.bytes(), bytes}) != checksums[name].get<std::string>())
      throw error("the data of tensor {} do not agree with their checksum: the file is damaged", name)
          .at(file.path.string());
  }
}

}  // namespace tenon
