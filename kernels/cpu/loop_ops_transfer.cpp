// Conversions between elements of any dtype and values of the type that it is held in. Built once per ISA.
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

template <class T>
constexpr bool lies_as_value = sizeof(Stored<T>) == sizeof(Value<T>);

template <class T>
void load(const Transfer& transfer) {
  const Transfer t = transfer;  // bytes that are written may lie anywhere, but not here
  for (long r = 0; r < t.rows; ++r) {
    const auto* from = reinterpret_cast<const Stored<T>*>(t.memory) + r * t.memory_pitch;
    auto* to = static_cast<Value<T>*>(t.values) + r * t.values_pitch;
    TENON_NO_OVERLAP
    for (long c = 0; c < t.cols; ++c) to[c] = read<T>(from[c]);
  }
}
template <class T>
void store(const Transfer& transfer) {
  const Transfer t = transfer;
  for (long r = 0; r < t.rows; ++r) {
    const auto* from = static_cast<const Value<T>*>(t.values) + r * t.values_pitch;
    auto* to = reinterpret_cast<Stored<T>*>(t.memory) + r * t.memory_pitch;
    if (t.splat) {
      const auto value = static_cast<Stored<T>>(*from);
      for (long c = 0; c < t.cols; ++c) to[c] = value;
    } else {
      TENON_NO_OVERLAP
      for (long c = 0; c < t.cols; ++c) to[c] = static_cast<Stored<T>>(from[c]);
    }
  }
}

}  // namespace

TransferFn loop_load_op(DType dtype) {
  if (const SmallFloatOps* small = loop_simd_ops().small_floats(dtype)) return small->load;
  return dispatch_real(dtype, [](auto tag) -> TransferFn {
    using T = typename decltype(tag)::type;
    if constexpr (is_small_float_element<T> || (lies_as_value<T> && !std::is_same_v<T, bool>))
      return nullptr;
    else
      return &load<T>;
  });
}
TransferFn loop_store_op(DType dtype) {
  if (const SmallFloatOps* small = loop_simd_ops().small_floats(dtype)) return small->store;
  return dispatch_real(dtype, [](auto tag) -> TransferFn {
    using T = typename decltype(tag)::type;
    if constexpr (is_small_float_element<T> || lies_as_value<T>)
      return nullptr;
    else
      return &store<T>;
  });
}

}  // namespace tenon::cpu::TENON_ISA
