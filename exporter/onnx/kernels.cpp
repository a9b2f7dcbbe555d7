// Sources: ONNX Runtime 1.31's kernels for the CPU, onnx.proto's schemas of operator set 21.
#include "exporter/onnx/kernels.h"

#include <algorithm>
#include <initializer_list>
#include <unordered_map>

namespace tenon::exporter::onnx {
namespace {

class DTypes {
 public:
  constexpr DTypes(std::initializer_list<DType> list) {
    for (const DType t : list) bits_ |= bit(t);
  }
  constexpr bool operator==(const DTypes&) const = default;
  constexpr bool contains(DType t) const { return (bits_ & bit(t)) != 0; }
  friend constexpr DTypes operator|(DTypes a, DTypes b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr unsigned bit(DType t) { return 1U << static_cast<unsigned>(t); }
  unsigned bits_ = 0;
};

using enum DType;
constexpr DTypes single = {f32}, floats = {f16, f32, f64}, half_or_single = {f16, f32},
                 boolean_only = {boolean};
constexpr DTypes whole = {u8, i8, u16, i16, u32, i32, u64, i64};
constexpr DTypes numbers = floats | whole, wide = floats | DTypes{i32, i64};
constexpr DTypes everything = numbers | DTypes{boolean, bf16};

// What is not listed takes every number.
const std::unordered_map<std::string_view, DTypes>& table() {
  static const std::unordered_map<std::string_view, DTypes> all = {
      {"Acos", half_or_single},
      {"Acosh", half_or_single},
      {"And", boolean_only},
      {"ArgMax", wide | DTypes{i8, u8}},
      {"ArgMin", wide | DTypes{i8, u8}},
      {"Asin", half_or_single},
      {"Asinh", half_or_single},
      {"Atan", half_or_single},
      {"Atanh", half_or_single},
      {"AveragePool", half_or_single},
      {"BatchNormalization", floats},
      {"BitShift", {u8, u32, u64}},
      {"BitwiseAnd", whole},
      {"BitwiseNot", whole},
      {"BitwiseOr", whole},
      {"BitwiseXor", whole},
      {"Ceil", floats},
      {"Celu", single},
      {"Clip", wide | DTypes{i8, u8, u32, u64}},
      {"Concat", everything},
      {"Conv", half_or_single},
      {"ConvTranspose", half_or_single},
      {"Cos", floats},
      {"Cosh", half_or_single},
      {"CumSum", wide},
      {"Det", half_or_single},
      {"Elu", half_or_single},
      {"Equal", numbers | boolean_only},
      {"Erf", half_or_single},
      {"Exp", floats},
      {"Expand", numbers | boolean_only},
      {"Floor", floats},
      {"Gather", everything},
      {"GatherElements", everything},
      {"GatherND", everything},
      {"Gelu", half_or_single},
      {"Gemm", floats},
      {"GroupNormalization", half_or_single},
      {"HardSigmoid", half_or_single},
      {"HardSwish", half_or_single},
      {"Identity", everything},
      {"IsInf", floats | DTypes{bf16}},
      {"IsNaN", floats | DTypes{bf16}},
      {"LayerNormalization", half_or_single | DTypes{bf16}},
      {"LeakyRelu", half_or_single},
      {"Log", floats},
      {"LogSoftmax", floats},
      {"MatMul", floats | DTypes{i32, i64, u32, u64}},
      {"Max", floats | DTypes{i32, i64, u32, u64}},
      {"MaxPool", floats | DTypes{i8, u8}},
      {"Min", floats | DTypes{i32, i64, u32, u64}},
      {"Mish", half_or_single},
      {"Mod", whole},  // but with fmod
      {"Neg", floats | DTypes{i8, i16, i32, i64}},
      {"NonMaxSuppression", single},
      {"NonZero", {boolean, f32, i32, i64, u8}},
      {"Not", boolean_only},
      {"Or", boolean_only},
      {"PRelu", half_or_single},
      {"Pad", wide | DTypes{boolean, i8, u8, u32, u64}},
      {"Pow", wide},
      {"Reciprocal", floats},
      {"ReduceMax", wide | DTypes{boolean, i8, u8}},
      {"ReduceMean", floats},
      {"ReduceMin", wide | DTypes{boolean, i8, u8}},
      {"ReduceProd", wide},
      {"ReduceSum", wide},
      {"Relu", floats | DTypes{i32, i8}},
      {"Reshape", everything},
      {"Resize", half_or_single | DTypes{i32, i8, u8}},
      {"Round", floats},
      {"ScatterElements", everything},
      {"ScatterND", everything},
      {"Selu", half_or_single},
      {"Sigmoid", floats},
      {"Sin", floats},
      {"Sinh", half_or_single},
      {"Slice", everything},
      {"Softmax", floats},
      {"Softplus", half_or_single},
      {"Softsign", half_or_single},
      {"Sqrt", floats},
      {"Swish", {}},  // of a later operator set
      {"Tan", half_or_single},
      {"Tanh", floats},
      {"TopK", wide | DTypes{i8, u8, i16}},
      {"Transpose", everything},
      {"Unique", {f32, f64, i64, i8}},
      {"Where", wide | DTypes{i8, u8, u32}},
      {"Xor", boolean_only},
  };
  return all;
}

// Wider dtypes that hold every value, the narrowest first.
std::initializer_list<DType> wider(DType t) {
  static const std::initializer_list<DType> small = {i32, i64}, word = {i64}, half = {f32}, none = {};
  switch (t) {
    case boolean:
    case u8:
    case i8:
    case u16:
    case i16: return small;
    case u32:
    case i32: return word;
    case f16:
    case bf16:
    case f8e4m3fn:
    case f8e5m2:
    case f8e4m3fnuz:
    case f8e5m2fnuz: return half;
    default: return none;
  }
}

}  // namespace

std::optional<DType> computed_in(std::string_view op_type, DType t) {
  const auto found = table().find(op_type);
  const DTypes has = found == table().end() ? numbers : found->second;
  if (has.contains(t)) return t;
  if (has == boolean_only) return boolean;
  for (const DType w : wider(t))
    if (has.contains(w)) return w;
  return std::nullopt;
}

}  // namespace tenon::exporter::onnx
