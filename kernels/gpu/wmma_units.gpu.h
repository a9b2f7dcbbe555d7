// The matrix units of RDNA 3: WMMA.
#pragma once
#include "kernels/gpu/matrix_instructions.gpu.h"
#include "kernels/gpu/ordinary_unit.gpu.h"

#if GPU_WMMA
namespace tenon::gpu {

template <class T, class Sum>
struct WmmaLanes {
  using Element = T;
  using Value = Sum;
  static constexpr int m = 16, n = 16, k = 16, values = 8;
  static constexpr int slots = 8, lanes_of_row = 16;
  static constexpr bool in_parts = false, takes_apart = false, chains = false;
  static constexpr int side_by_side = 1;
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

}  // namespace tenon::gpu
#endif
