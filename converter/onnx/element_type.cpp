#include "converter/onnx/element_type.h"

#include <array>
#include <string_view>

namespace tenon::converter::onnx {
namespace {

struct OnnxType {
  std::string_view name;
  std::optional<DType> dtype;
  NarrowFormat narrow = {};
};
// In the order of TensorProto.DataType, from 0.
constexpr std::array<OnnxType, 29> onnx_types{{
    {"UNDEFINED", {}},
    {"FLOAT", DType::f32},
    {"UINT8", DType::u8},
    {"INT8", DType::i8},
    {"UINT16", DType::u16},
    {"INT16", DType::i16},
    {"INT32", DType::i32},
    {"INT64", DType::i64},
    {"STRING", DType::string},
    {"BOOL", DType::boolean},
    {"FLOAT16", DType::f16},
    {"DOUBLE", DType::f64},
    {"UINT32", DType::u32},
    {"UINT64", DType::u64},
    {"COMPLEX64", DType::c64},
    {"COMPLEX128", DType::c128},
    {"BFLOAT16", DType::bf16},
    {"FLOAT8E4M3FN", DType::f16, {8, 4, 3, 7, true, NarrowFormat::nan_at_end}},
    {"FLOAT8E4M3FNUZ", DType::f16, {8, 4, 3, 8, true, NarrowFormat::nan_at_minus_zero}},
    {"FLOAT8E5M2", DType::f16, {8, 5, 2, 15, true, NarrowFormat::ieee}},
    {"FLOAT8E5M2FNUZ", DType::f16, {8, 5, 2, 16, true, NarrowFormat::nan_at_minus_zero}},
    {"UINT4", DType::u8, {4, 0, 0, 0, false}},
    {"INT4", DType::i8, {4, 0, 0, 0, true}},
    {"FLOAT4E2M1", DType::f16, {4, 2, 1, 1, true}},
    {"FLOAT8E8M0", DType::f32, {8, 8, 0, 127, false, NarrowFormat::nan_at_end}},
    {"UINT2", DType::u8, {2, 0, 0, 0, false}},
    {"INT2", DType::i8, {2, 0, 0, 0, true}},
    {"FLOAT6E2M3", DType::f16, {6, 2, 3, 1, true}},
    {"FLOAT6E3M2", DType::f16, {6, 3, 2, 3, true}},
}};

const OnnxType* onnx_type(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(onnx_types.size())) return nullptr;
  return &onnx_types[static_cast<std::size_t>(number)];
}

}  // namespace

std::optional<DType> dtype_from_onnx(std::int64_t number) {
  const OnnxType* type = onnx_type(number);
  return type ? type->dtype : std::nullopt;
}

const NarrowFormat* narrow_format(std::int64_t number) {
  const OnnxType* type = onnx_type(number);
  return type && type->narrow.bits > 0 ? &type->narrow : nullptr;
}

std::string onnx_type_name(std::int64_t number) {
  const OnnxType* type = onnx_type(number);
  return type ? std::string(type->name) : std::to_string(number);
}

}  // namespace tenon::converter::onnx
