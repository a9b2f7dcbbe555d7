// Moves patches of elements between memory and registers, whatever lies side by side there. Built once per
// ISA.
#include "kernels/cpu/loop_patch.h"

#include <cstdint>
#include <type_traits>

#include "kernels/cpu/loop_pairs.h"
#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/loop_spread.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {

/// Of transpose_block.cpp: target[c][r] = source[r][c].
void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride);
void transpose_block_u8(long rows, long cols, const std::uint8_t* source, long source_stride,
                        std::uint8_t* target, long target_stride);
void transpose_block_u16(long rows, long cols, const std::uint16_t* source, long source_stride,
                         std::uint16_t* target, long target_stride);
void transpose_block_u64(long rows, long cols, const std::uint64_t* source, long source_stride,
                         std::uint64_t* target, long target_stride);

namespace {

/// N bytes as elements of T.
template <class T, long N>
using Piece [[gnu::vector_size(N), gnu::aligned(1), gnu::may_alias]] = T;

/// Every step-th element; a step that the compiler knows makes vectors and shuffles of them. Functions of
/// their own: inlined, they are no vector code.
template <class T, class Step>
[[gnu::noinline]] void collect(const T* from, Step step, T* to, long count) {
  TENON_NO_OVERLAP
  for (long i = 0; i < count; i++) to[i] = from[i * step];
}
template <class T, class Step>
[[gnu::noinline]] void scatter(const T* from, Step from_step, T* to, long to_step, long count) {
  TENON_NO_OVERLAP
  for (long i = 0; i < count; i++) to[i * to_step] = from[i * from_step];
}
/// to[i * n + c] = from[c * apart + i]
template <long n, class T>
[[gnu::noinline]] void interleave(const T* from, long apart, T* to, long count) {
  TENON_NO_OVERLAP
  for (long i = 0; i < count; i++)
    for (long c = 0; c < n; c++) to[i * n + c] = from[c * apart + i];
}

/// The same bits in every element.
template <class Bytes, class T>
TENON_INLINE Bytes repeated(T x) {
  using Integer =
      std::conditional_t<sizeof(T) == 4, std::int32_t, std::conditional_t<sizeof(T) == 8, std::int64_t, T>>;
  const Piece<Integer, sizeof(Bytes)> all = __builtin_bit_cast(Integer, x) - Piece<Integer, sizeof(Bytes)>{};
  return reinterpret_cast<Bytes>(all);
}

/// All of it is inlined, so that the patch is in registers: a copy of it would wait for the stores before it.
template <class T>
class PatchMove {
 public:
  TENON_INLINE explicit PatchMove(const Patch& patch) : p_(patch) {}

  TENON_INLINE void run() {
    // Columns are what lies dense in the target, else in the source.
    if (p_.cols == 1 || (p_.to_col != 1 && (p_.to_row == 1 || (p_.from_col != 1 && p_.from_row == 1))))
      swap();
    if (p_.rows == 1) p_.to_row = p_.from_row = 0;
    if (p_.to_col == 1 && p_.from_col == 1)
      return by_bytes([&](auto n) __attribute__((always_inline)) { copy_rows<n()>(); });
    if (p_.to_col == 1 && p_.from_col == 0)
      return by_bytes([&](auto n) __attribute__((always_inline)) { fill_rows<n()>(); });
    const bool is_transposed = p_.to_col == 1 && p_.from_row == 1;
    if constexpr (size >= 4) {
      if (is_transposed && p_.rows == 2 && p_.from_col == 2)
        return part_pairs(from(0), to(0), to(1), p_.cols);
      if (is_transposed && p_.cols == 2 && p_.to_row == 2)
        return join_pairs(from(0), from(0) + p_.from_col, to(0), p_.rows);
    }
    if (is_transposed && p_.cols == p_.to_row && p_.cols <= 4)
      return by_count(
          p_.cols, [&](auto n) __attribute__((always_inline)) {
            interleave<n()>(from(0), p_.from_col, to(0), p_.rows);
          });
    if (is_transposed && p_.rows > few && p_.cols > few) return transpose();
    move_apart();
  }

 private:
  static constexpr long size = sizeof(T);
  static constexpr long few = size <= 2 ? 15 : 8;  // rows or columns, of which vectors are no gain
  template <long n>
  using Number = std::integral_constant<long, n>;

  TENON_INLINE void swap() {
    p_ = {p_.to, p_.from, p_.cols, p_.rows, p_.to_col, p_.to_row, p_.from_col, p_.from_row};
  }
  TENON_INLINE const T* from(long r) const { return static_cast<const T*>(p_.from) + r * p_.from_row; }
  TENON_INLINE T* to(long r) const { return static_cast<T*>(p_.to) + r * p_.to_row; }

  /// Calls f with the largest piece, in bytes, that a row has: two of them cover what has less than two.
  template <class F>
  TENON_INLINE void by_bytes(F f) const {
    const long bytes = p_.cols * size;
    // No more than a vector: of two, g++ moves quarters through the stack.
    if constexpr (sizeof(vf) >= 64)
      if (bytes >= 64) return f(Number<64>{});
    if constexpr (sizeof(vf) >= 32)
      if (bytes >= 32) return f(Number<32>{});
    if (bytes >= 16) return f(Number<16>{});
    if (bytes >= 8) return f(Number<8>{});
    if constexpr (size <= 4)
      if (bytes >= 4) return f(Number<4>{});
    if constexpr (size <= 2)
      if (bytes >= 2) return f(Number<2>{});
    if constexpr (size == 1) return f(Number<1>{});
  }

  template <long n>
  TENON_INLINE void copy_rows() const {
    using Bytes = Piece<T, n>;
    constexpr long step = n / size;
    const long last = p_.cols - step;
    for (long r = 0; r < p_.rows; r++) {
      const T* const source = from(r);
      T* const target = to(r);
      for (long c = 0; c < last; c += step)
        *reinterpret_cast<Bytes*>(target + c) = *reinterpret_cast<const Bytes*>(source + c);
      *reinterpret_cast<Bytes*>(target + last) = *reinterpret_cast<const Bytes*>(source + last);
    }
  }

  template <long n>
  TENON_INLINE void fill_rows() const {
    using Bytes = Piece<T, n>;
    constexpr long step = n / size;
    const long last = p_.cols - step;
    for (long r = 0; r < p_.rows; r++) {
      const Bytes value = repeated<Bytes>(*from(r));
      T* const target = to(r);
      for (long c = 0; c < last; c += step) *reinterpret_cast<Bytes*>(target + c) = value;
      *reinterpret_cast<Bytes*>(target + last) = value;
    }
  }

  /// Rows lie side by side in the source.
  TENON_INLINE void transpose() const {
    const T* const source = from(0);
    T* const target = to(0);
    if constexpr (size == 1) transpose_block_u8(p_.cols, p_.rows, source, p_.from_col, target, p_.to_row);
    if constexpr (size == 2) transpose_block_u16(p_.cols, p_.rows, source, p_.from_col, target, p_.to_row);
    if constexpr (size == 4) transpose_block(p_.cols, p_.rows, source, p_.from_col, target, p_.to_row);
    if constexpr (size == 8)
      transpose_block_u64(p_.cols, p_.rows, reinterpret_cast<const std::uint64_t*>(source), p_.from_col,
                          reinterpret_cast<std::uint64_t*>(target), p_.to_row);
  }
  template <class F>
  TENON_INLINE void by_count(long count, F f) const {
    if (count == 2) return f(Number<2>{});
    if (count == 3) return f(Number<3>{});
    if (count == 4) return f(Number<4>{});
  }

  TENON_INLINE void move_apart() {
    if (p_.rows > p_.cols) swap();
    if (p_.to_col == 1 && is_few(p_.from_col))
      return by_count(
          p_.from_col, [&](auto step) __attribute__((always_inline)) { move_rows(step); });
    if (is_few(p_.to_col) && (p_.from_col == 1 || p_.from_col == p_.to_col))
      return by_count(
          p_.to_col, [&](auto n) __attribute__((always_inline)) {
            p_.from_col == 1 ? spread_rows<n(), 1>() : spread_rows<n(), n()>();
          });
    move_rows(p_.from_col);
  }
  TENON_INLINE static bool is_few(long step) { return step >= 2 && step <= 4; }
  template <long n, long step>
  TENON_INLINE void spread_rows() const {
    for (long r = 0; r < p_.rows; r++) spread<n, step>(from(r), to(r), p_.cols);
  }
  template <class Step>
  TENON_INLINE void move_rows(Step step) const {
    const long rows = p_.rows, cols = p_.cols, apart = p_.to_col;
    for (long r = 0; r < rows; r++) {
      const T* const source = from(r);
      T* const target = to(r);
      if (apart == 1) {
        collect(source, step, target, cols);
      } else if (step == 1) {
        scatter(source, Number<1>{}, target, apart, cols);
      } else {
        scatter(source, step, target, apart, cols);
      }
    }
  }

  Patch p_;
};

template <class T>
void move_patch(const Patch& patch) {
  if (patch.rows > 0 && patch.cols > 0) PatchMove<T>(patch).run();
}

}  // namespace

PatchFn loop_patch_op(long element_size) {
  switch (element_size) {
    case 1: return &move_patch<std::uint8_t>;
    case 2: return &move_patch<std::uint16_t>;
    case 4: return &move_patch<float>;  // collected in vectors with fewer instructions than integers
    default: return &move_patch<double>;
  }
}

}  // namespace tenon::cpu::TENON_ISA
