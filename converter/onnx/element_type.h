// The element types of ONNX: the numbers of TensorProto.DataType.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "ir/narrow.h"

namespace tenon::converter::onnx {

/// The dtype with this number, or nullopt when Tenon has none. Types of less than 16 bits that Tenon does not
/// compute in are held as the values they stand for: float8, float6 and float4 as f16, float8e8m0 (powers of
/// two) as f32, int4 and int2 as i8, uint4 and uint2 as u8.
std::optional<DType> dtype_from_onnx(std::int64_t number);
/// The format of a type that is held in a wider one; null for any other.
const NarrowFormat* narrow_format(std::int64_t number);
inline bool is_narrow(std::int64_t number) { return narrow_format(number) != nullptr; }
/// "FLOAT8E4M3FN"; the number as text when ONNX has no such type.
std::string onnx_type_name(std::int64_t number);

}  // namespace tenon::converter::onnx
