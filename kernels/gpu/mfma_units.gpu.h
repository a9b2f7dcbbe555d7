// The matrix units of CDNA: MFMA.
#pragma once
#include "kernels/gpu/matrix_instructions.gpu.h"
#include "kernels/gpu/ordinary_unit.gpu.h"

#if GPU_MFMA
namespace tenon::gpu {

/// A lane holds `each` elements of a side. The matrix unit rounds as the ordinary ones do.
template <class T, class Sum, int Each>
struct MfmaLanes {
  using Element = T;
  using Value = Sum;
  static constexpr int each = Each;
  static constexpr int m = 16, n = 16, k = 4 * each, values = 4;
  static constexpr int slots = 4, lanes_of_row = 16;
  static constexpr bool in_parts = false, takes_apart = false, chains = false;
  static constexpr int side_by_side = 1;
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

}  // namespace tenon::gpu
#endif
