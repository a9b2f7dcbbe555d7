// Moves patches of elements between memory and registers, whatever lies side by side there. Built once per
// ISA.
#include "kernels/cpu/loop_patch.h"

#include <cstdint>
#include <type_traits>

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

template <class T>
class PatchMove {
 public:
  explicit PatchMove(const Patch& patch) : p_(patch) {}

  void run() {
    // Columns are what lies dense in the target, else in the source.
    if (p_.cols == 1 || (p_.to_col != 1 && (p_.to_row == 1 || (p_.from_col != 1 && p_.from_row == 1))))
      swap();
    if (p_.rows == 1) p_.to_row = p_.from_row = 0;
    if (p_.to_col == 1 && p_.from_col == 1) return by_bytes([&](auto n) { copy_rows<n()>(); });
    if (p_.to_col == 1 && p_.from_col == 0) return by_bytes([&](auto n) { fill_rows<n()>(); });
    if (p_.to_col == 1 && p_.from_row == 1) return transpose();
    move_apart();
  }

 private:
  static constexpr long size = sizeof(T);
  static constexpr long few = 8;  // rows or columns, of which vectors are no gain
  /// Floats are collected in vectors with fewer instructions than integers.
  using Moved = std::conditional_t<size == 4, float, std::conditional_t<size == 8, double, T>>;
  template <long n>
  using Number = std::integral_constant<long, n>;

  void swap() { p_ = {p_.to, p_.from, p_.cols, p_.rows, p_.to_col, p_.to_row, p_.from_col, p_.from_row}; }
  const T* from(long r) const { return static_cast<const T*>(p_.from) + r * p_.from_row; }
  T* to(long r) const { return static_cast<T*>(p_.to) + r * p_.to_row; }

  /// Calls f with the largest piece, in bytes, that a row has: two of them cover what has less than two.
  template <class F>
  TENON_INLINE void by_bytes(F f) const {
    const long bytes = p_.cols * size;
    if (bytes >= 64) return f(Number<64>{});
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
      const Bytes value = *from(r) - Bytes{};
      T* const target = to(r);
      for (long c = 0; c < last; c += step) *reinterpret_cast<Bytes*>(target + c) = value;
      *reinterpret_cast<Bytes*>(target + last) = value;
    }
  }

  /// Rows lie side by side in the source.
  void transpose() {
    if (p_.cols == p_.to_row && p_.cols <= 4) return by_count(p_.cols, [&](auto n) { interleave<n()>(); });
    if (p_.rows <= few || p_.cols <= few) return move_apart();
    const T* const source = from(0);
    T* const target = to(0);
    if constexpr (size == 1) transpose_block_u8(p_.cols, p_.rows, source, p_.from_col, target, p_.to_row);
    if constexpr (size == 2) transpose_block_u16(p_.cols, p_.rows, source, p_.from_col, target, p_.to_row);
    if constexpr (size == 4)
      transpose_block(p_.cols, p_.rows, reinterpret_cast<const float*>(source), p_.from_col,
                      reinterpret_cast<float*>(target), p_.to_row);
    if constexpr (size == 8) transpose_block_u64(p_.cols, p_.rows, source, p_.from_col, target, p_.to_row);
  }
  template <class F>
  TENON_INLINE void by_count(long count, F f) const {
    if (count == 2) return f(Number<2>{});
    if (count == 3) return f(Number<3>{});
    if (count == 4) return f(Number<4>{});
  }
  template <long n>
  TENON_INLINE void interleave() const {
    const long rows = p_.rows, apart = p_.from_col;
    const T* const source = from(0);
    T* const __restrict target = to(0);
    for (long r = 0; r < rows; r++)
      for (long c = 0; c < n; c++) target[r * n + c] = source[c * apart + r];
  }

  void move_apart() {
    if constexpr (size <= 2)
      if (p_.to_col == 1 && p_.cols >= p_.rows && p_.from_col >= 2 && p_.from_col <= 4)
        return by_count(p_.from_col, [&](auto step) { move_rows(step); });
    if (p_.rows > p_.cols) swap();
    move_rows(p_.from_col);
  }
  /// A step that the compiler knows makes vectors and shuffles of the row.
  template <class Step>
  TENON_INLINE void move_rows(Step step) const {
    const long rows = p_.rows, cols = p_.cols, apart = p_.to_col;
    for (long r = 0; r < rows; r++) {
      const T* const source = from(r);
      T* const target = to(r);
      if (apart == 1) {
        move_row(source, target, cols, step, Number<1>{});
      } else {
        move_row(source, target, cols, step, apart);
      }
    }
  }
  template <class FromStep, class ToStep>
  static TENON_INLINE void move_row(const T* source, T* target, long cols, FromStep from_step,
                                    ToStep to_step) {
    const auto* const from = reinterpret_cast<const Moved*>(source);
    Moved* const __restrict to = reinterpret_cast<Moved*>(target);
    for (long c = 0; c < cols; c++) to[c * to_step] = from[c * from_step];
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
    case 4: return &move_patch<std::uint32_t>;
    default: return &move_patch<std::uint64_t>;
  }
}

}  // namespace tenon::cpu::TENON_ISA
