// The numbers of the zip format that reader and writer share.
#pragma once
#include <cstdint>

namespace tenon::zip {

constexpr std::uint32_t local_header = 0x04034b50, central_header = 0x02014b50;
constexpr std::uint32_t end_record = 0x06054b50, end64_record = 0x06064b50, end64_locator = 0x07064b50;
constexpr std::uint64_t local_header_size = 30, central_header_size = 46, end_record_size = 22;
constexpr std::uint64_t end64_record_size = 56, end64_locator_size = 20, longest_comment = 0xffff;
constexpr std::uint16_t zip64_field = 1;
// What a 32-bit or 16-bit field holds when the value stands in a ZIP64 field.
constexpr std::uint32_t in_zip64 = 0xffffffff;
constexpr std::uint16_t in_zip64_short = 0xffff;

}  // namespace tenon::zip
