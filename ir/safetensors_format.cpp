#include "ir/safetensors_format.h"

#include <fmt/format.h>

#include <array>

#include "base/checksum.h"

namespace tenon::safetensors {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
};
constexpr std::array<Row, 18> table = {{{DType::boolean, "BOOL"},
                                        {DType::u8, "U8"},
                                        {DType::i8, "I8"},
                                        {DType::u16, "U16"},
                                        {DType::i16, "I16"},
                                        {DType::u32, "U32"},
                                        {DType::i32, "I32"},
                                        {DType::u64, "U64"},
                                        {DType::i64, "I64"},
                                        {DType::f16, "F16"},
                                        {DType::bf16, "BF16"},
                                        {DType::f32, "F32"},
                                        {DType::f64, "F64"},
                                        {DType::c64, "C64"},
                                        {DType::f8e4m3fn, "F8_E4M3"},
                                        {DType::f8e5m2, "F8_E5M2"},
                                        {DType::f8e4m3fnuz, "F8_E4M3FNUZ"},
                                        {DType::f8e5m2fnuz, "F8_E5M2FNUZ"}}};

}  // namespace

std::optional<std::string_view> dtype_name(DType dtype) {
  for (const Row& row : table)
    if (row.dtype == dtype) return row.name;
  return std::nullopt;
}

std::optional<DType> dtype_of(std::string_view name) {
  for (const Row& row : table)
    if (row.name == name) return row.dtype;
  return std::nullopt;
}

std::string checksum(std::span<const std::byte> bytes) { return fmt::format("{:08x}", crc32(bytes)); }

}  // namespace tenon::safetensors
