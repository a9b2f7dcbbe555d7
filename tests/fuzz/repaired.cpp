// Artifacts whose checksums fit, whatever else is wrong with them.
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "ir/print.h"
#include "ir/safetensors_format.h"
#include "runtime/artifact.h"
#include "tests/fuzz/bytes.h"

namespace tenon::fuzz {
namespace {

using nlohmann::json;

// The bytes with the checksums of their tensors and of their header; as they are where the header is none.
std::string repaired(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < sizeof length) return std::string(bytes);
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > bytes.size() - sizeof length) return std::string(bytes);
  const std::string_view data = bytes.substr(sizeof length + length);
  json header = json::parse(bytes.substr(sizeof length, length), nullptr, false);
  if (!header.is_object() || !header.contains("__metadata__") || !header["__metadata__"].is_object())
    return std::string(bytes);
  json checksums = json::object();
  for (const auto& [name, entry] : header.items()) {
    const bool has_range = entry.is_object() && entry.contains("data_offsets") &&
                           entry["data_offsets"].is_array() && entry["data_offsets"].size() == 2 &&
                           entry["data_offsets"][0].is_number_unsigned() &&
                           entry["data_offsets"][1].is_number_unsigned();
    if (!has_range) continue;
    const auto begin = entry["data_offsets"][0].get<std::uint64_t>();
    const auto end = entry["data_offsets"][1].get<std::uint64_t>();
    if (begin > end || end > data.size()) continue;
    checksums[name] = safetensors::checksum(std::as_bytes(std::span(data.substr(begin, end - begin))));
  }
  header["__metadata__"][std::string(safetensors::checksums_key)] = checksums.dump();
  const std::string text = safetensors::header_with_checksum(header);
  length = text.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file.append(text).append(data);
}

}  // namespace
}  // namespace tenon::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tenon;
  const std::string bytes = fuzz::repaired(fuzz::text_of(data, size));
  const fuzz::MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  try {
    print(*load_artifact(file.path()).graph);
  } catch (const Error&) {}
  return 0;
}
