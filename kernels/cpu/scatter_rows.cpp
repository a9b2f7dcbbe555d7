// Rows joined element by element: plain loops, which the compiler turns into vector code, but of short
// elements, whose rows are short. Built once per ISA.
#include "kernels/cpu/scatter_joins.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <class T, long Bytes>
using Vector [[gnu::vector_size(Bytes), gnu::aligned(1), gnu::may_alias]] = T;

template <class T, Reduce R, long Bytes>
TENON_INLINE Vector<T, Bytes> joined_vectors(Vector<T, Bytes> a, Vector<T, Bytes> b) {
  if constexpr (R == Reduce::max) {
    return a > b ? a : b;
  } else if constexpr (R == Reduce::min) {
    return a < b ? a : b;
  } else if constexpr (R == Reduce::sum) {
    return a + b;
  } else if constexpr (sizeof(T) == 1) {  // there are products of two bytes: those of every other byte
    using Pairs = Vector<std::uint16_t, Bytes>;
    const Pairs x = reinterpret_cast<Pairs>(a), y = reinterpret_cast<Pairs>(b);
    return reinterpret_cast<Vector<T, Bytes>>((x * y & 0xff) | (x >> 8) * (y >> 8) << 8);
  } else {
    return a * b;
  }
}

/// In vectors of so many bytes, from the first element that is not done; returns the next one.
template <class T, Reduce R, long Bytes>
TENON_INLINE long join_vectors(T* to, const T* from, long first, long count) {
  using V = Vector<T, Bytes>;
  constexpr long lanes = Bytes / static_cast<long>(sizeof(T));
  for (; first + lanes <= count; first += lanes)
    *reinterpret_cast<V*>(to + first) = joined_vectors<T, R, Bytes>(
        *reinterpret_cast<const V*>(to + first), *reinterpret_cast<const V*>(from + first));
  return first;
}

template <class T, Reduce R>
void join(void* to, const void* from, long count) {
  auto* __restrict const out = static_cast<T*>(to);
  const auto* __restrict const in = static_cast<const T*>(from);
  long i = 0;
  if constexpr (sizeof(T) < 4) {
    i = join_vectors<T, R, VL * 4>(out, in, i, count);
    i = join_vectors<T, R, 16>(out, in, i, count);
  }
  for (; i < count; ++i) out[i] = joined<R>(out[i], in[i]);
}

}  // namespace

RowJoin row_join(DType dtype, Reduce reduce) {
  return dispatch_join(dtype, reduce, []<class T, Reduce R>() -> RowJoin { return join<T, R>; });
}

}  // namespace tenon::cpu::TENON_ISA
