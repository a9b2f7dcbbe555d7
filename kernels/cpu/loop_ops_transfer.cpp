// Loads and stores between memory of any dtype and dense values of the type that it is held in. Built once
// per ISA.
#include <type_traits>

#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

/// Of loop_ops_simd.cpp.
const SimdOps& loop_simd_ops();

namespace {

template <class T>
using Value = Stored<HeldOf<T>>;

/// A bool in memory is any byte: read as a byte, so that values other than 0 and 1 are no undefined
/// behaviour.
template <class T>
Value<T> read(Stored<T> x) {
  if constexpr (std::is_same_v<T, bool>)
    return x != 0;
  else
    return static_cast<Value<T>>(x);
}

/// Every `step`-th element; a step that the compiler knows makes vectors and shuffles of it.
template <class T, class Step>
TENON_INLINE void load_row(const Stored<T>* from, Value<T>* to, long cols, Step step) {
  TENON_NO_OVERLAP
  for (long c = 0; c < cols; ++c) to[c] = read<T>(from[c * step]);
}

template <class T>
void load(const Transfer& transfer) {
  const Transfer t = transfer;  // bytes that are written may lie anywhere, but not here
  for (long r = 0; r < t.rows; ++r) {
    const auto* from = reinterpret_cast<const Stored<T>*>(t.memory) + r * t.row_stride;
    auto* to = static_cast<Value<T>*>(t.values) + r * t.values_pitch;
    switch (t.col_stride) {
      case 1: load_row<T>(from, to, t.cols, std::integral_constant<long, 1>{}); break;
      case 2: load_row<T>(from, to, t.cols, std::integral_constant<long, 2>{}); break;
      case 3: load_row<T>(from, to, t.cols, std::integral_constant<long, 3>{}); break;
      case 4: load_row<T>(from, to, t.cols, std::integral_constant<long, 4>{}); break;
      default: load_row<T>(from, to, t.cols, t.col_stride);
    }
  }
}
template <class T>
void store(const Transfer& transfer) {
  const Transfer t = transfer;
  for (long r = 0; r < t.rows; ++r) {
    const auto* from = static_cast<const Value<T>*>(t.values) + r * t.values_pitch;
    auto* to = reinterpret_cast<Stored<T>*>(t.memory) + r * t.row_stride;
    if (t.splat) {
      const auto value = static_cast<Stored<T>>(*from);
      for (long c = 0; c < t.cols; ++c) to[c * t.col_stride] = value;
    } else if (t.col_stride == 1) {
      TENON_NO_OVERLAP
      for (long c = 0; c < t.cols; ++c) to[c] = static_cast<Stored<T>>(from[c]);
    } else {
      TENON_NO_OVERLAP
      for (long c = 0; c < t.cols; ++c) to[c * t.col_stride] = static_cast<Stored<T>>(from[c]);
    }
  }
}

}  // namespace

TransferFn loop_load_op(DType dtype) {
  const SimdOps& simd = loop_simd_ops();
  if (dtype == DType::f32) return simd.load_f32;
  if (const SmallFloatOps* small = simd.small_floats(dtype)) return small->load;
  return dispatch_real(dtype, [](auto tag) -> TransferFn {
    using T = typename decltype(tag)::type;
    if constexpr (is_small_float_element<T>)
      return nullptr;
    else
      return &load<T>;
  });
}
TransferFn loop_store_op(DType dtype) {
  if (const SmallFloatOps* small = loop_simd_ops().small_floats(dtype)) return small->store;
  return dispatch_real(dtype, [](auto tag) -> TransferFn {
    using T = typename decltype(tag)::type;
    if constexpr (is_small_float_element<T>)
      return nullptr;
    else
      return &store<T>;
  });
}

}  // namespace tenon::cpu::TENON_ISA
