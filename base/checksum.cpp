#include "base/checksum.h"

#include <libdeflate.h>

namespace tenon {

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
  return bytes.empty() ? before : libdeflate_crc32(before, bytes.data(), bytes.size());
}

}  // namespace tenon
