// The numbers that exported programs use for dtypes, layouts and memory formats, which are not c10's.
// Source: PyTorch's torch/_export/serde/schema.py.
#pragma once
#include <cstdint>
#include <optional>

#include "base/dtype.h"

namespace tenon::exported {

/// nullopt for what has no form here: 16-bit complex numbers, powers of two in 8 bits.
constexpr std::optional<DType> dtype_of(std::int64_t code) {
  switch (code) {
    case 1: return DType::u8;
    case 2: return DType::i8;
    case 3: return DType::i16;
    case 4: return DType::i32;
    case 5: return DType::i64;
    case 6: return DType::f16;
    case 7: return DType::f32;
    case 8: return DType::f64;
    case 10: return DType::c64;
    case 11: return DType::c128;
    case 12: return DType::boolean;
    case 13: return DType::bf16;
    case 28: return DType::u16;
    case 29: return DType::f8e4m3fn;
    case 30: return DType::f8e5m2;
    case 31: return DType::f8e4m3fnuz;
    case 32: return DType::f8e5m2fnuz;
    case 34: return DType::u32;
    case 35: return DType::u64;
    default: return std::nullopt;
  }
}

/// c10's number of a dtype; nullopt for a number that is no dtype.
constexpr std::optional<std::int64_t> c10_dtype(std::int64_t code) {
  if (code >= 1 && code <= 11) return code - 1;
  switch (code) {
    case 12: return 11;
    case 13: return 15;
    case 28: return 27;
    case 29: return 24;
    case 30: return 23;
    case 31: return 26;
    case 32: return 25;
    case 33: return 44;
    case 34: return 28;
    case 35: return 29;
    default: return std::nullopt;
  }
}

/// c10's number of a layout.
constexpr std::optional<std::int64_t> c10_layout(std::int64_t code) {
  if (code == 7) return 0;                                           // strided
  if (code == 1 || code == 2) return code;                           // sparse, CSR
  if (code >= 3 && code <= 5) return code + 1;                       // CSC, BSR, BSC
  return code == 6 ? std::optional<std::int64_t>(3) : std::nullopt;  // oneDNN
}

/// c10's number of a memory format.
constexpr std::optional<std::int64_t> c10_memory_format(std::int64_t code) {
  switch (code) {
    case 1: return 0;  // contiguous
    case 2: return 2;  // channels last
    case 3: return 3;  // channels last, 3-d
    case 4: return 1;  // preserve
    default: return std::nullopt;
  }
}

}  // namespace tenon::exported
