// Rows that are copied from their ends. Built once per ISA.
#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// N bytes as elements of T.
template <class T, long N>
using Piece [[gnu::vector_size(N), gnu::aligned(1), gnu::may_alias]] = T;

template <int lanes, class V, int... I>
TENON_INLINE V reversed_groups(V v, LaneList<I...>) {
  return __builtin_shufflevector(v, v, ((I & -lanes) + lanes - 1 - I % lanes)...);
}
/// In groups of 16 bytes, then halves of these all together: the instructions that there are.
template <class T, long N>
TENON_INLINE Piece<T, N> reversed(Piece<T, N> v) {
  constexpr int lanes = N / sizeof(T), words = N / 8;
  using Elements = typename MakeLaneList<lanes>::type;
  if constexpr (N <= 16) {
    return reversed_groups<lanes>(v, Elements{});
  } else {
    constexpr int half = 8 / sizeof(T);
    const auto halves = reversed_groups<half>(v, Elements{});
    using Words = Piece<std::uint64_t, N>;
    return reinterpret_cast<Piece<T, N>>(
        reversed_groups<words>(reinterpret_cast<Words>(halves), typename MakeLaneList<words>::type{}));
  }
}

template <class T, long N>
TENON_INLINE void reverse_piece(const T* last, T* to, long c) {
  constexpr long step = N / static_cast<long>(sizeof(T));
  *reinterpret_cast<Piece<T, N>*>(to + c) =
      reversed<T, N>(*reinterpret_cast<const Piece<T, N>*>(last - c - (step - 1)));
}
/// In pieces of N bytes, of which a row has one at least; the last one, which may be half as long, may
/// overlap the one before.
template <class T, long N>
TENON_INLINE void reverse_in_pieces(const T* last, long source_stride, T* to, long target_stride, long rows,
                                    long cols) {
  constexpr long step = N / static_cast<long>(sizeof(T));
  const long whole = cols / step * step, rest = cols - whole;
  for (long r = 0; r < rows; r++, last += source_stride, to += target_stride) {
    for (long c = 0; c < whole; c += step) reverse_piece<T, N>(last, to, c);
    if (rest > step / 2)
      reverse_piece<T, N>(last, to, cols - step);
    else if (rest > 0)
      reverse_piece<T, N / 2>(last, to, cols - step / 2);
  }
}

template <class T>
TENON_INLINE void reverse_rows(const T* last, long source_stride, T* to, long target_stride, long rows,
                               long cols) {
  if constexpr (sizeof(T) <= 2) {  // where the compiler's vectors end, it moves many elements one by one
    const long bytes = cols * static_cast<long>(sizeof(T));
    const auto pieces = [&]<long N>() __attribute__((always_inline)) {
      reverse_in_pieces<T, N>(last, source_stride, to, target_stride, rows, cols);
    };
    if constexpr (sizeof(vf) >= 64)
      if (bytes >= 64) return pieces.template operator()<64>();
    if constexpr (sizeof(vf) >= 32)
      if (bytes >= 32) return pieces.template operator()<32>();
    if (bytes >= 16) return pieces.template operator()<16>();
    if (bytes >= 8) return pieces.template operator()<8>();
  }
  if constexpr (sizeof(T) > 2) {
    // From both ends: where the row begins at the same place of a page as the target, what is read next would
    // else wait for what was just written.
    constexpr long step = sizeof(vf) / sizeof(T);
    if (cols >= 2 * step) {
      using V = Piece<T, sizeof(vf)>;
      for (long r = 0; r < rows; r++, last += source_stride, to += target_stride) {
        const auto both = [&](long c, long d) __attribute__((always_inline)) {
          const V a = *reinterpret_cast<const V*>(last - c - (step - 1));
          const V b = *reinterpret_cast<const V*>(last - d - (step - 1));
          *reinterpret_cast<V*>(to + c) = reversed_groups<step>(a, typename MakeLaneList<step>::type{});
          *reinterpret_cast<V*>(to + d) = reversed_groups<step>(b, typename MakeLaneList<step>::type{});
        };
        long c = 0;
        for (; 2 * (c + step) <= cols; c += step) both(c, cols - c - step);
        if (const long rest = cols - 2 * c; rest > step)
          both(c, cols - c - step);
        else if (rest > 0)
          both(c, c);
      }
      return;
    }
  }
  for (long r = 0; r < rows; r++, last += source_stride, to += target_stride)
    TENON_NO_OVERLAP for (long c = 0; c < cols; c++) to[c] = last[-c];
}

}  // namespace

#define TENON_REVERSE_ROWS(name, T)                                                               \
  void name(const T* last, long source_stride, T* to, long target_stride, long rows, long cols);  \
  void name(const T* last, long source_stride, T* to, long target_stride, long rows, long cols) { \
    reverse_rows(last, source_stride, to, target_stride, rows, cols);                             \
  }
TENON_REVERSE_ROWS(reverse_rows_u8, std::uint8_t)
TENON_REVERSE_ROWS(reverse_rows_u16, std::uint16_t)
TENON_REVERSE_ROWS(reverse_rows_u32, std::uint32_t)
TENON_REVERSE_ROWS(reverse_rows_u64, std::uint64_t)
#undef TENON_REVERSE_ROWS

}  // namespace tenon::cpu::TENON_ISA
