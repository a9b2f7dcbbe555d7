#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "ir/safetensors.h"
#include "ir/safetensors_format.h"

namespace tenon {
namespace {

using namespace safetensors;
static_assert(std::endian::native == std::endian::little, "the format is little-endian");

std::size_t byte_count(const Tensor& t) { return static_cast<std::size_t>(t.numel()) * size_of(t.dtype()); }

// Aligned ones first, then by element size, so that each begins at a multiple of its element's size.
bool goes_before(const NamedTensor& a, const NamedTensor& b) {
  const auto key = [](const NamedTensor& t) {
    const bool ragged = byte_count(t.tensor) % alignment != 0;
    return std::tuple(ragged, ~size_of(t.tensor.dtype()), std::string_view(t.name));
  };
  return key(a) < key(b);
}

std::string header_text(const std::vector<NamedTensor>& tensors, const TextMap& metadata) {
  nlohmann::json header = nlohmann::json::object();
  nlohmann::json checksums = nlohmann::json::object();
  std::size_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const auto dtype = dtype_name(tensor.dtype());
    if (!dtype)
      throw unsupported("tensor {} is {}, which safetensors cannot hold", name, tenon::name(tensor.dtype()));
    if (header.contains(name)) throw error("two tensors are named {}", name);
    const std::size_t bytes = byte_count(tensor);
    header[name] = {{"dtype", *dtype}, {"shape", tensor.shape()}, {"data_offsets", {offset, offset + bytes}}};
    checksums[name] = checksum({tensor.contiguous().bytes(), bytes});
    offset += bytes;
  }
  header["__metadata__"] = metadata;
  header["__metadata__"][checksums_key] = checksums.dump();
  return header_with_checksum(std::move(header));
}

}  // namespace

std::string safetensors::header_with_checksum(nlohmann::json header) {
  header["__metadata__"][header_checksum_key] = blank_checksum;
  std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.append((alignment - (length_bytes + text.size()) % alignment) % alignment, ' ');
  const std::string blank = fmt::format("\"{}\":\"{}\"", header_checksum_key, blank_checksum);
  const std::string sum = checksum(std::as_bytes(std::span(text)));
  const std::size_t at = text.find(blank);
  TENON_CHECK(at != std::string::npos);
  text.replace(at + blank.size() - 1 - sum.size(), sum.size(), sum);
  return text;
}

std::size_t write_safetensors(const std::filesystem::path& path, std::vector<NamedTensor> tensors,
                              TextMap metadata) {
  std::sort(tensors.begin(), tensors.end(), goes_before);
  const std::string header = header_text(tensors, metadata);
  if (header.size() > max_header_bytes)
    throw unsupported("the header takes {} bytes, more than the {} that readers accept", header.size(),
                      max_header_bytes)
        .at(path.string());
  AtomicFile file(path);
  const std::uint64_t length = header.size();
  file.write(std::as_bytes(std::span(&length, 1)));
  file.write(header);
  for (const auto& [name, tensor] : tensors) file.write({tensor.contiguous().bytes(), byte_count(tensor)});
  file.commit();
  return file.size();
}

}  // namespace tenon
