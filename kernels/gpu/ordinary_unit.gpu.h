// What a unit is that multiplies matrices in shared memory, and the ordinary one.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

/// `Lines` rows of a left side (columns of a right one), each `Depth` long, in shared memory: the elements of
/// a line side by side (DepthFast), or those of one depth. The padding keeps the lanes of a unit in different
/// banks.
template <class T, int Lines, int Depth, bool DepthFast>
struct SharedTile {
  using Element = T;
  static constexpr bool depth_fast = DepthFast;
  static constexpr int piece = 16 / int(sizeof(T)), pad = DepthFast || piece > 8 ? piece : 8;
  static constexpr int stride = (DepthFast ? Depth : Lines) + pad;
  static constexpr int bytes = (DepthFast ? Lines : Depth) * stride * int(sizeof(T));
  T* data;

  GPU_INLINE T* at(int line, int depth) const {
    return data + (DepthFast ? line * stride + depth : depth * stride + line);
  }
  /// `Count` elements of a line, packed as registers hold them.
  template <int Count, class Register, int Registers>
  GPU_INLINE void read(Register (&to)[Registers], int first, int line, int depth) const {
    T elements[Count];
    if (DepthFast) {
      constexpr int piece = Count * int(sizeof(T)) > 16 ? 16 / int(sizeof(T)) : Count;
      for (int i = 0; i < Count; i += piece)
        read_pieces(at(line, depth + i), reinterpret_cast<T(&)[piece]>(elements[i]));
    } else {
      for (int i = 0; i < Count; ++i) elements[i] = *at(line, depth + i);
    }
    GPU_COPY(to + first, elements, sizeof elements);
  }
};

/// A unit adds left [m, k] x right [k, n] to a sum [m, n]:
///   Element           what it multiplies, in shared memory
///   Left, Right       what a lane holds of the two sides; their read(tile, first line, first depth)
///   Value, values     what a lane holds of the sum; sum[i] is at (row(i), column(i))
///   slots, slot(i)    how many different rows that are, and which of them; `lanes_of_row` neighbours
///                     share them
///   in_parts          long sums must be made of parts, which ordinary additions add up
///   takes_apart       it takes numbers apart: infinities have no parts
///   side_by_side      values of the sum that lie side by side, from each multiple of that on
///   chains            sums become left sides in registers: left_of(sums that lie side by side), for right
///                     sides of the next product that read_two_behind() brings; read_two() brings those of
///                     two units that lie side by side
/// Of a unit of bytes the sides exceed what it multiplies by `left_shift` and `right_shift`, and set_to_one()
/// makes sides of which it multiplies ones.

/// What products are summed in: those of bytes modulo 2^32.
template <class T>
struct SumOf {
  using type = decltype(number(T()));
};
template <>
struct SumOf<signed char> {
  using type = unsigned;
};
template <>
struct SumOf<unsigned char> {
  using type = unsigned;
};

/// On the ordinary units: a lane computes two values in each of some rows. The elements of the sides are the
/// bits of the types that are given.
template <class T, class LeftNumber = T, class RightNumber = LeftNumber>
struct OrdinaryUnit {
  using Element = T;
  using Value = typename SumOf<LeftNumber>::type;
  static constexpr int lanes_across = 8, lanes_down = wave_size / lanes_across;
  static constexpr int m = 16, n = 2 * lanes_across, k = 1;
  static constexpr int slots = m / lanes_down, lanes_of_row = lanes_across, values = 2 * slots;
  static constexpr bool in_parts = false, takes_apart = false, chains = false;
  static constexpr int side_by_side = 1;
  static constexpr unsigned left_shift = 0, right_shift = 0;

  struct Left {
    Value of[slots];
    GPU_INLINE void set_to_one() {
      for (Value& x : of) x = 1;
    }
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      for (int i = 0; i < slots; ++i) of[i] = number(bits_as<LeftNumber>(*tile.at(line + row(2 * i), depth)));
    }
  };
  struct Right {
    Value of[2];
    GPU_INLINE void set_to_one() { of[0] = of[1] = 1; }
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      for (int j = 0; j < 2; ++j) of[j] = number(bits_as<RightNumber>(*tile.at(line + column(j), depth)));
    }
  };
  static GPU_INLINE constexpr int slot(int i) { return i / 2; }
  static GPU_INLINE int row(int i) {
    return i / 2 * lanes_down + int(threadIdx.x) % wave_size / lanes_across;
  }
  static GPU_INLINE int column(int i) { return i % 2 * lanes_across + int(threadIdx.x) % lanes_across; }
  static GPU_INLINE void multiply(Value (&sum)[values], const Left& a, const Right& b) {
    for (int i = 0; i < values; ++i) sum[i] += a.of[i / 2] * b.of[i % 2];
  }
};

/// Bytes in the registers of a lane.
template <int Words>
struct ByteWords {
  unsigned of[Words];
  GPU_INLINE void set_to_one() {
    for (unsigned& word : of) word = 0x01010101u;
  }
  /// Each minus 128, as a byte with a sign, where bytes without one become such.
  GPU_INLINE void shift() {
    for (unsigned& word : of) word ^= 0x80808080u;
  }
};

}  // namespace tenon::gpu
