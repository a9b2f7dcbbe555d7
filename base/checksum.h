// The checksum of zip archives and of our artifacts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tenon {

/// CRC-32 (ISO-HDLC, as in zip). `before` is that of the bytes in front, to go on from.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace tenon
