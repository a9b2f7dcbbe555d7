// How a wave multiplies matrices that lie in shared memory: on its matrix unit, or on the ordinary units.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"
#include "kernels/gpu/matrix_instructions.gpu.h"

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
  static constexpr bool in_parts = false, takes_apart = false;
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

#if GPU_MMA

template <class Sum>
struct MmaSum {
  using Value = Sum;
  static constexpr int m = 16, n = 8, values = 4;
  static constexpr int slots = 2, lanes_of_row = 4;
  static constexpr bool takes_apart = false;
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
  static constexpr bool in_parts = false;

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
  static constexpr bool in_parts = true, takes_apart = true;

  template <int Words>
  struct Side {
    unsigned big[Words], small[Words];
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      float x[Words];
      read_floats_of(tile, line, depth, x);
      for (int i = 0; i < Words; ++i) {
        big[i] = to_tf32(x[i]);
        const float rest = x[i] - bits_as<float>(big[i]);
        small[i] = isfinite(x[i]) ? to_tf32(rest) : 0;
      }
    }
  };
  using Left = Side<4>;
  using Right = Side<2>;
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
/// e4m3fn or e5m2 on each side. Units of Ada keep some 14 bits of a sum, so sums stay short.
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

#elif GPU_MFMA

/// A lane holds `each` elements of a side. The matrix unit rounds as the ordinary ones do.
template <class T, class Sum, int Each>
struct MfmaLanes {
  using Element = T;
  using Value = Sum;
  static constexpr int each = Each;
  static constexpr int m = 16, n = 16, k = 4 * each, values = 4;
  static constexpr int slots = 4, lanes_of_row = 16;
  static constexpr bool in_parts = false, takes_apart = false;
  static constexpr unsigned left_shift = 0, right_shift = 0;

  static GPU_INLINE constexpr int slot(int i) { return i; }
  static GPU_INLINE int row(int i) { return int(threadIdx.x) % wave_size / 16 * 4 + i; }
  static GPU_INLINE int column(int) { return int(threadIdx.x) % 16; }
  template <class Tile, int Words>
  static GPU_INLINE void read_side(const Tile& tile, int line, int depth, unsigned (&to)[Words]) {
    const int lane = int(threadIdx.x) % wave_size;
    tile.template read<each>(to, 0, line + lane % 16, depth + lane / 16 * each);
  }
};

/// f16, bf16 or f32.
template <class T>
struct MfmaUnit : MfmaLanes<T, float, sizeof(T) == 2 ? 4 : 1> {
  using Lanes = MfmaLanes<T, float, sizeof(T) == 2 ? 4 : 1>;

  struct Side {
    unsigned of[Lanes::each * sizeof(T) / 4];
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      Lanes::read_side(tile, line, depth, of);
    }
  };
  using Left = Side;
  using Right = Side;
  static GPU_INLINE void multiply(float (&sum)[4], const Side& a, const Side& b) {
    run(sum, a.of, b.of, T());
  }

 private:
  static GPU_INLINE void run(float (&sum)[4], const unsigned (&a)[2], const unsigned (&b)[2], half) {
    mfma_f16(sum, a, b);
  }
  static GPU_INLINE void run(float (&sum)[4], const unsigned (&a)[2], const unsigned (&b)[2], bfloat16) {
    mfma_bf16(sum, a, b);
  }
  static GPU_INLINE void run(float (&sum)[4], const unsigned (&a)[1], const unsigned (&b)[1], float) {
    mfma_f32(sum, a, b);
  }
};

/// Bytes with a sign; those without one are shifted.
template <class LeftByte, class RightByte>
struct MfmaOfBytes : MfmaLanes<unsigned char, unsigned, mfma_bytes> {
  static constexpr unsigned left_shift = same<LeftByte, signed char> ? 0 : 128,
                            right_shift = same<RightByte, signed char> ? 0 : 128;

  template <unsigned Shift>
  struct Side : ByteWords<mfma_bytes / 4> {
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      read_side(tile, line, depth, this->of);
      if (Shift != 0) this->shift();
    }
  };
  using Left = Side<left_shift>;
  using Right = Side<right_shift>;
  static GPU_INLINE void multiply(unsigned (&sum)[4], const Left& a, const Right& b) {
    mfma_i8(sum, a.of, b.of);
  }
};

#if GPU_MFMA_OF_FLOAT8
/// e4m3fnuz ("fp8") or e5m2fnuz ("bf8") on each side.
template <class LeftFloat, class RightFloat>
struct MfmaOfFloat8 : MfmaLanes<unsigned char, float, 8> {
  struct Side {
    unsigned of[2];
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      read_side(tile, line, depth, of);
    }
  };
  using Left = Side;
  using Right = Side;
  static GPU_INLINE void multiply(float (&sum)[4], const Side& a, const Side& b) {
    constexpr bool left_fp8 = same<LeftFloat, float8_e4m3fnuz>, right_fp8 = same<RightFloat, float8_e4m3fnuz>;
    if (left_fp8 && right_fp8)
      mfma_fp8_fp8(sum, a.of, b.of);
    else if (left_fp8)
      mfma_fp8_bf8(sum, a.of, b.of);
    else if (right_fp8)
      mfma_bf8_fp8(sum, a.of, b.of);
    else
      mfma_bf8_bf8(sum, a.of, b.of);
  }
};
#endif

#elif GPU_WMMA

template <class T, class Sum>
struct WmmaLanes {
  using Element = T;
  using Value = Sum;
  static constexpr int m = 16, n = 16, k = 16, values = 8;
  static constexpr int slots = 8, lanes_of_row = 16;
  static constexpr bool in_parts = false, takes_apart = false;
  static constexpr unsigned left_shift = 0, right_shift = 0;

  static GPU_INLINE constexpr int slot(int i) { return i; }
  static GPU_INLINE int row(int i) { return 2 * i + int(threadIdx.x) % wave_size / 16; }
  static GPU_INLINE int column(int) { return int(threadIdx.x) % 16; }
  template <class Tile, int Words>
  static GPU_INLINE void read_side(const Tile& tile, int line, int depth, unsigned (&to)[Words]) {
    tile.template read<16>(to, 0, line + int(threadIdx.x) % 16, depth);
  }
};

/// f16 or bf16.
template <class T>
struct WmmaUnit : WmmaLanes<T, float> {
  struct Side {
    unsigned of[8];
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      WmmaUnit::read_side(tile, line, depth, of);
    }
  };
  using Left = Side;
  using Right = Side;
  static GPU_INLINE void multiply(float (&sum)[8], const Side& a, const Side& b) {
    if (same<T, half>)
      wmma_f16(sum, a.of, b.of);
    else
      wmma_bf16(sum, a.of, b.of);
  }
};

/// Bytes of either sign on each side.
template <class LeftByte, class RightByte>
struct WmmaOfBytes : WmmaLanes<unsigned char, unsigned> {
  struct Side : ByteWords<4> {
    template <class Tile>
    GPU_INLINE void read(const Tile& tile, int line, int depth) {
      read_side(tile, line, depth, this->of);
    }
  };
  using Left = Side;
  using Right = Side;
  static GPU_INLINE void multiply(unsigned (&sum)[8], const Side& a, const Side& b) {
    constexpr bool left_signed = same<LeftByte, signed char>, right_signed = same<RightByte, signed char>;
    if (left_signed && right_signed)
      wmma_s8_s8(sum, a.of, b.of);
    else if (left_signed)
      wmma_s8_u8(sum, a.of, b.of);
    else if (right_signed)
      wmma_u8_s8(sum, a.of, b.of);
    else
      wmma_u8_u8(sum, a.of, b.of);
  }
};

#endif

/// The unit for products of such elements, with all of their accuracy.
template <class T>
struct UnitOf {
  using type = OrdinaryUnit<T>;
};
#if GPU_MMA
template <>
struct UnitOf<half> {
  using type = HalfUnit<half>;
};
template <>
struct UnitOf<bfloat16> {
  using type = HalfUnit<bfloat16>;
};
template <>
struct UnitOf<float> {
  using type = Tf32Triple;
};
#elif GPU_MFMA
template <>
struct UnitOf<half> {
  using type = MfmaUnit<half>;
};
template <>
struct UnitOf<bfloat16> {
  using type = MfmaUnit<bfloat16>;
};
template <>
struct UnitOf<float> {
  using type = MfmaUnit<float>;
};
#elif GPU_WMMA
template <>
struct UnitOf<half> {
  using type = WmmaUnit<half>;
};
template <>
struct UnitOf<bfloat16> {
  using type = WmmaUnit<bfloat16>;
};
#endif

/// For products of bytes, signed char or unsigned char, which memory holds as unsigned char.
template <class LeftByte, class RightByte>
struct UnitOfBytes {
#if GPU_MMA
  using type = MmaOfBytes<LeftByte, RightByte>;
#elif GPU_MFMA
  using type = MfmaOfBytes<LeftByte, RightByte>;
#elif GPU_WMMA
  using type = WmmaOfBytes<LeftByte, RightByte>;
#else
  using type = OrdinaryUnit<unsigned char, LeftByte, RightByte>;
#endif
};

/// Forms of float8 that the device's matrix units multiply.
template <class T>
struct IsMultiplied {
#if GPU_MMA_OF_FLOAT8
  static constexpr bool value = same<T, float8_e4m3fn> || same<T, float8_e5m2>;
#elif GPU_MFMA_OF_FLOAT8
  static constexpr bool value = same<T, float8_e4m3fnuz> || same<T, float8_e5m2fnuz>;
#else
  static constexpr bool value = false;
#endif
};

/// For products of float8, which memory holds as unsigned char.
template <class LeftFloat, class RightFloat, bool = IsMultiplied<LeftFloat>::value>
struct UnitOfFloat8 {
  using type = OrdinaryUnit<unsigned char, LeftFloat, RightFloat>;
};
#if GPU_MMA_OF_FLOAT8
template <class LeftFloat, class RightFloat>
struct UnitOfFloat8<LeftFloat, RightFloat, true> {
  using type = MmaOfFloat8<LeftFloat, RightFloat>;
};
#elif GPU_MFMA_OF_FLOAT8
template <class LeftFloat, class RightFloat>
struct UnitOfFloat8<LeftFloat, RightFloat, true> {
  using type = MfmaOfFloat8<LeftFloat, RightFloat>;
};
#endif

/// For products of float32 that may be less accurate.
#if GPU_MMA
using Tf32OrFloat = Tf32Unit;
#else
using Tf32OrFloat = UnitOf<float>::type;
#endif

}  // namespace tenon::gpu
