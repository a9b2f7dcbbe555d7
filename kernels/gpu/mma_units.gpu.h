// The matrix units of NVIDIA that a wave uses: mma.sync.
#pragma once
#include "kernels/gpu/matrix_instructions.gpu.h"
#include "kernels/gpu/ordinary_unit.gpu.h"

#if GPU_MMA
namespace tenon::gpu {

template <class Sum>
struct MmaSum {
  using Value = Sum;
  static constexpr int m = 16, n = 8, values = 4;
  static constexpr int slots = 2, lanes_of_row = 4;
  static constexpr bool takes_apart = false, chains = false;
  static constexpr int side_by_side = 2;
  static constexpr unsigned left_shift = 0, right_shift = 0;
  static GPU_INLINE int group() { return int(threadIdx.x) % wave_size / 4; }
  static GPU_INLINE int turn() { return int(threadIdx.x) % 4; }
  static GPU_INLINE constexpr int slot(int i) { return i / 2; }
  static GPU_INLINE int row(int i) { return i / 2 * 8 + group(); }
  static GPU_INLINE int column(int i) { return 2 * turn() + i % 2; }
};

/// What a lane holds of 16 lines (4 words) or 8 (2 words), two pieces of 16 bytes deep.
template <class Tile, int Words>
GPU_INLINE void read_side(const Tile& tile, int line, int depth, unsigned (&to)[Words]) {
  constexpr int each = 16 / int(sizeof(typename Tile::Element)), across = Words / 2;
  const int matrix = int(threadIdx.x) / 8 % Words, row = int(threadIdx.x) % 8;
  const int first_line = line + matrix % across * 8, first_depth = depth + matrix / across * each;
  load_matrices<!Tile::depth_fast>(
      to, Tile::depth_fast ? tile.at(first_line + row, first_depth) : tile.at(first_line, first_depth + row));
}

/// What a lane holds of 8 lines and of the 8 that follow, two pieces of 16 bytes deep.
template <class Tile>
GPU_INLINE void read_two_sides(const Tile& tile, int line, int depth, unsigned (&to)[4]) {
  constexpr int each = 16 / int(sizeof(typename Tile::Element));
  const int matrix = int(threadIdx.x) / 8 % 4, row = int(threadIdx.x) % 8;
  const int first_line = line + matrix / 2 * 8, first_depth = depth + matrix % 2 * each;
  load_matrices<!Tile::depth_fast>(
      to, Tile::depth_fast ? tile.at(first_line + row, first_depth) : tile.at(first_line, first_depth + row));
}

/// The same of bytes and of words; elements of a line may lie apart.
template <class Tile, int Words>
GPU_INLINE void read_words(const Tile& tile, int line, int depth, unsigned (&to)[Words]) {
  if constexpr (Tile::depth_fast) {
    read_side(tile, line, depth, to);
  } else {
    constexpr int across = Words / 2, each = 4 / int(sizeof(typename Tile::Element));
    const int group = int(threadIdx.x) % wave_size / 4, turn = int(threadIdx.x) % 4;
    for (int i = 0; i < Words; ++i)
      tile.template read<each>(to, i, line + i % across * 8 + group, depth + (i / across * 4 + turn) * each);
  }
}

/// f16 or bf16.
template <class T>
struct HalfUnit : MmaSum<float> {
  using Element = T;
  static constexpr int k = 16;
  static constexpr bool in_parts = false, chains = true;

  template <int Words>
  struct Side {
    unsigned of[Words];
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      read_side(tile, line, depth, of);
    }
  };
  using Left = Side<4>;
  using Right = Side<2>;
  static GPU_INLINE Left left_of(const float (*sums)[4]) {
    return {{pair_of(sums[0][0], sums[0][1], T()), pair_of(sums[0][2], sums[0][3], T()),
             pair_of(sums[1][0], sums[1][1], T()), pair_of(sums[1][2], sums[1][3], T())}};
  }
  template <class Tile>
  static GPU_INLINE void read_two(const Tile& tile, int line, int depth, Right (&to)[2]) {
    unsigned words[4];
    read_two_sides(tile, line, depth, words);
    to[0] = {{words[0], words[1]}};
    to[1] = {{words[2], words[3]}};
  }
  template <class Tile>
  static GPU_INLINE void read_two_behind(const Tile& tile, int line, int depth, Right (&to)[2]) {
    read_two(tile, line, depth, to);
  }
  static GPU_INLINE void multiply(float (&sum)[4], const Left& a, const Right& b) {
    if (same<T, half>)
      mma_f16(sum, a.of, b.of);
    else
      mma_bf16(sum, a.of, b.of);
  }
};

/// float32, whose instructions multiply numbers of tf32.
struct MmaOfFloats : MmaSum<float> {
  using Element = float;
  static constexpr int k = 8;

  template <class Tile, int Words>
  static GPU_INLINE void read_floats_of(const Tile& tile, int line, int depth, float (&to)[Words]) {
    unsigned words[Words];
    read_words(tile, line, depth, words);
    GPU_COPY(to, words, sizeof words);
  }
};

/// float32 as three products of tf32: x = big + small, and small x small is left out. The matrix unit cuts
/// its sums instead of rounding them, so they stay short.
struct Tf32Triple : MmaOfFloats {
  static constexpr bool in_parts = true, takes_apart = true, chains = true;

  template <int Words>
  struct Side {
    unsigned big[Words], small[Words];
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      float x[Words];
      read_floats_of(tile, line, depth, x);
      for (int i = 0; i < Words; ++i) put(i, x[i]);
    }
    GPU_INLINE void put(int i, float x) {
      // Rounded to the 11 bits that x and 2^13 x have in common. The rest has 12 bits, of which the unit
      // would cut one: it is rounded, too. Where x is not finite, its big part is NaN.
      const float rounded = multiply_add(x, -8192, x * 8193);
      big[i] = bits_as<unsigned>(rounded);
      small[i] = (bits_as<unsigned>(x - rounded) + 0x1000u) & 0xffffe000u;
    }
  };
  using Left = Side<4>;
  using Right = Side<2>;
  /// Its depths t and t + 4 are columns 2 t and 2 t + 1 of the sum.
  static GPU_INLINE Left left_of(const float (*sum)[4]) {
    Left left;
    for (int i = 0; i < 4; ++i) left.put(i, sum[0][i % 2 * 2 + i / 2]);
    return left;
  }
  template <class Tile>
  static GPU_INLINE void read_two(const Tile& tile, int line, int depth, Right (&to)[2]) {
    unsigned words[4];
    read_two_sides(tile, line, depth, words);
    for (int i = 0; i < 4; ++i) to[i / 2].put(i % 2, bits_as<float>(words[i]));
  }
  template <class Tile>
  static GPU_INLINE void read_two_behind(const Tile& tile, int line, int depth, Right (&to)[2]) {
    for (int i = 0; i < 4; ++i)
      to[i / 2].put(i % 2, *tile.at(line + i / 2 * 8 + group(), depth + 2 * turn() + i % 2));
  }
  static GPU_INLINE void multiply(float (&sum)[4], const Left& a, const Right& b) {
    mma_tf32(sum, a.small, b.big);
    mma_tf32(sum, a.big, b.small);
    mma_tf32(sum, a.big, b.big);
  }
};

/// float32 rounded to tf32.
struct Tf32Unit : MmaOfFloats {
  static constexpr bool in_parts = false;

  template <int Words>
  struct Side {
    unsigned of[Words];
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      float x[Words];
      read_floats_of(tile, line, depth, x);
      for (int i = 0; i < Words; ++i) of[i] = to_tf32(x[i]);
    }
  };
  using Left = Side<4>;
  using Right = Side<2>;
  static GPU_INLINE void multiply(float (&sum)[4], const Left& a, const Right& b) {
    mma_tf32(sum, a.of, b.of);
  }
};

/// Elements of a byte, whatever they stand for.
template <class Sum>
struct ByteMma : MmaSum<Sum> {
  using Element = unsigned char;
  static constexpr int k = 32;

  template <int Words>
  struct Side : ByteWords<Words> {
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      read_words(tile, line, depth, this->of);
    }
  };
  using Left = Side<4>;
  using Right = Side<2>;
};

/// Bytes of either sign on each side.
template <class LeftByte, class RightByte>
struct MmaOfBytes : ByteMma<unsigned> {
  static constexpr bool in_parts = false;

  static GPU_INLINE void multiply(unsigned (&sum)[4], const Left& a, const Right& b) {
    constexpr bool left_signed = same<LeftByte, signed char>, right_signed = same<RightByte, signed char>;
    if (left_signed && right_signed)
      mma_s8_s8(sum, a.of, b.of);
    else if (left_signed)
      mma_s8_u8(sum, a.of, b.of);
    else if (right_signed)
      mma_u8_s8(sum, a.of, b.of);
    else
      mma_u8_u8(sum, a.of, b.of);
  }
};

#if GPU_MMA_OF_FLOAT8
/// e4m3fn or e5m2 on each side. Units may keep as few as 14 bits of a sum, so sums stay short.
template <class LeftFloat, class RightFloat>
struct MmaOfFloat8 : ByteMma<float> {
  static constexpr bool in_parts = true;

  static GPU_INLINE void multiply(float (&sum)[4], const Left& a, const Right& b) {
    constexpr bool left_e4m3 = same<LeftFloat, float8_e4m3fn>, right_e4m3 = same<RightFloat, float8_e4m3fn>;
    if (left_e4m3 && right_e4m3)
      mma_e4m3_e4m3(sum, a.of, b.of);
    else if (left_e4m3)
      mma_e4m3_e5m2(sum, a.of, b.of);
    else if (right_e4m3)
      mma_e5m2_e4m3(sum, a.of, b.of);
    else
      mma_e5m2_e5m2(sum, a.of, b.of);
  }
};
#endif

}  // namespace tenon::gpu
#endif
