// Loads and stores between memory of any dtype and dense values of its compute type. Built once.
#include <cstring>
#include <type_traits>

#include "kernels/cpu/loop_ops.h"

namespace tenon::cpu {
namespace {

/// How the compute type of element type T is held in a register.
template <class T>
using Value =
    std::conditional_t<std::is_same_v<T, bool>, std::uint8_t,
                       std::conditional_t<std::is_same_v<T, double>, double,
                                          std::conditional_t<std::is_integral_v<T>, std::int64_t, float>>>;

/// A bool in memory is any byte: read as a byte, so that values other than 0 and 1 are no undefined
/// behaviour.
template <class T>
using Memory = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
Value<T> read(const Memory<T>& x) {
  if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else
    return static_cast<Value<T>>(x);
}
template <class T>
Memory<T> write(const Value<T>& x) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(x);
  else
    return static_cast<Memory<T>>(x);
}

template <class T>
void load(const Transfer& t) {
  for (long r = 0; r < t.rows; ++r) {
    const auto* from = reinterpret_cast<const Memory<T>*>(t.memory) + r * t.row_stride;
    auto* to = static_cast<Value<T>*>(t.values) + r * t.values_pitch;
    if (t.col_stride == 1) {
      for (long c = 0; c < t.cols; ++c) to[c] = read<T>(from[c]);
    } else {
      for (long c = 0; c < t.cols; ++c) to[c] = read<T>(from[c * t.col_stride]);
    }
  }
}
template <class T>
void store(const Transfer& t) {
  for (long r = 0; r < t.rows; ++r) {
    const auto* from = static_cast<const Value<T>*>(t.values) + r * t.values_pitch;
    auto* to = reinterpret_cast<Memory<T>*>(t.memory) + r * t.row_stride;
    if (t.splat) {
      for (long c = 0; c < t.cols; ++c) to[c * t.col_stride] = write<T>(*from);
    } else if (t.col_stride == 1) {
      for (long c = 0; c < t.cols; ++c) to[c] = write<T>(from[c]);
    } else {
      for (long c = 0; c < t.cols; ++c) to[c * t.col_stride] = write<T>(from[c]);
    }
  }
}

}  // namespace

TransferFn load_op(DType dtype) {
  if (dtype == DType::f32) return simd_ops().load_f32;
  if (dtype == DType::f16) return simd_ops().load_f16;
  if (dtype == DType::bf16) return simd_ops().load_bf16;
  return dispatch_real(dtype, [](auto tag) -> TransferFn { return &load<typename decltype(tag)::type>; });
}
TransferFn store_op(DType dtype) {
  if (dtype == DType::f16) return simd_ops().store_f16;
  if (dtype == DType::bf16) return simd_ops().store_bf16;
  return dispatch_real(dtype, [](auto tag) -> TransferFn { return &store<typename decltype(tag)::type>; });
}

}  // namespace tenon::cpu
