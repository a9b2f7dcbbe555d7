#include "converter/c10_dtype.h"

#include "base/error.h"

namespace tenon::converter {

std::optional<DType> dtype_from_c10(std::int64_t code) {
  switch (code) {
    case 0: return DType::u8;
    case 1: return DType::i8;
    case 2: return DType::i16;
    case 3: return DType::i32;
    case 4: return DType::i64;
    case 5: return DType::f16;
    case 6: return DType::f32;
    case 7: return DType::f64;
    case 9: return DType::c64;
    case 10: return DType::c128;
    case 11: return DType::boolean;
    case 15: return DType::bf16;
    case 23: return DType::f8e5m2;
    case 24: return DType::f8e4m3fn;
    case 25: return DType::f8e5m2fnuz;
    case 26: return DType::f8e4m3fnuz;
    case 27: return DType::u16;
    case 28: return DType::u32;
    case 29: return DType::u64;
    default: return std::nullopt;
  }
}

std::int64_t c10_code(DType t) {
  for (std::int64_t code = 0; code < 30; ++code)
    if (dtype_from_c10(code) == t) return code;
  throw InternalError("a dtype without a c10 number");
}

}  // namespace tenon::converter
