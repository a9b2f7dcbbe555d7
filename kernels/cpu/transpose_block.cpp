// One small block of a transposing copy, tile by tile in registers. Built once per ISA.
#include "kernels/cpu/simd_bytes.h"

namespace tenon::cpu::TENON_ISA {

static TENON_INLINE void transpose_tile(int rows, int cols, const float* source, long source_stride,
                                        float* target, long target_stride) {
  vf r[VL];
  TENON_UNROLL
  for (int i = 0; i < VL; i++) {
    const float* p = source + i * source_stride;
    r[i] = i >= rows ? vf{} : cols == VL ? load(p) : load_partial(p, cols);
  }
  transpose(r);
  TENON_UNROLL
  for (int i = 0; i < VL; i++) {
    if (i >= cols) continue;
    float* p = target + i * target_stride;
    if (rows == VL) {
      store(p, r[i]);
    } else {
      store_partial(p, r[i], rows);
    }
  }
}

namespace {

// Few rows to columns that lie one behind the other, as the colours of an image, or the other way: plain
// loops, of which the compiler makes shuffles of whole vectors.
template <int rows>
void join_rows(long cols, const float* __restrict source, long source_stride, float* __restrict target) {
  for (long c = 0; c < cols; c++)
    for (int r = 0; r < rows; r++) target[c * rows + r] = source[r * source_stride + c];
}
template <int cols>
void part_columns(long rows, const float* __restrict source, float* __restrict target, long target_stride) {
  for (long r = 0; r < rows; r++)
    for (int c = 0; c < cols; c++) target[c * target_stride + r] = source[r * cols + c];
}

}  // namespace

void transpose_block(long rows, long cols, const float* source, long source_stride, float* target,
                     long target_stride) {
  if (target_stride == rows) {
    if (rows == 2) return join_rows<2>(cols, source, source_stride, target);
    if (rows == 3) return join_rows<3>(cols, source, source_stride, target);
    if (rows == 4) return join_rows<4>(cols, source, source_stride, target);
  }
  if (source_stride == cols) {
    if (cols == 2) return part_columns<2>(rows, source, target, target_stride);
    if (cols == 3) return part_columns<3>(rows, source, target, target_stride);
    if (cols == 4) return part_columns<4>(rows, source, target, target_stride);
  }
  for (long c = 0; c < cols; c += VL) {
    const int cs = static_cast<int>(cols - c < VL ? cols - c : VL);
    for (long r = 0; r < rows; r += VL) {
      const int rs = static_cast<int>(rows - r < VL ? rows - r : VL);
      const float* s = source + r * source_stride + c;
      float* t = target + c * target_stride + r;
      if (rs == VL && cs == VL) {
        transpose_tile(VL, VL, s, source_stride, t, target_stride);
      } else {
        transpose_tile(rs, cs, s, source_stride, t, target_stride);
      }
    }
  }
}

namespace {

/// 1 to 64 bytes: two pieces of one size, which may overlap.
static TENON_INLINE void copy_bytes(void* to, const void* from, long count) {
  char* const target = static_cast<char*>(to);
  const char* const source = static_cast<const char*>(from);
  const auto copy = [&](auto piece) {
    constexpr long size = sizeof piece;
    __builtin_memcpy(&piece, source, size);
    __builtin_memcpy(target, &piece, size);
    __builtin_memcpy(&piece, source + count - size, size);
    __builtin_memcpy(target + count - size, &piece, size);
  };
  typedef char Quarter __attribute__((vector_size(16)));
  typedef char Half __attribute__((vector_size(32)));
  if (count >= 32) return copy(Half{});
  if (count >= 16) return copy(Quarter{});
  if (count >= 8) return copy(std::uint64_t{});
  if (count >= 4) return copy(std::uint32_t{});
  if (count >= 2) return copy(std::uint16_t{});
  copy(char{});
}

/// Tiles whose elements lie in vectors of 32 bits: how many rows and columns they have, and their
/// transposition. Of small elements, those of several rows are one lane.
template <class T>
struct SmallTile {
  static constexpr int rows_of_lane = 4 / sizeof(T);
  static constexpr int rows = VL * rows_of_lane, cols = VL;
  /// Of the rows of a lane, VL columns. Behind the last row, it is repeated.
  static TENON_INLINE vf lanes_of(const T* source, long source_stride, long last = rows) {
    vu lanes{};
    TENON_UNROLL
    for (int part = 0; part < rows_of_lane; part++) {
      const T* const row = source + (part < last ? part : last) * source_stride;
      lanes |= reinterpret_cast<vu>(widen(load(row))) << (8 * sizeof(T) * part);
    }
    return reinterpret_cast<vf>(lanes);
  }
  /// As many rows as a lane holds, to columns that lie one behind the other.
  static TENON_INLINE void run_lanes(long count, const T* source, long source_stride, T* target) {
    long c = 0;
    for (; c + VL <= count; c += VL)
      store(reinterpret_cast<float*>(target + c * rows_of_lane), lanes_of(source + c, source_stride));
    for (; c < count; c++)
      for (int part = 0; part < rows_of_lane; part++)
        target[c * rows_of_lane + part] = source[part * source_stride + c];
  }
  static TENON_INLINE void run(const T* source, long source_stride, T* target, long target_stride) {
    vf r[VL];
    TENON_UNROLL
    for (int i = 0; i < VL; i++) r[i] = lanes_of(source + i * rows_of_lane * source_stride, source_stride);
    transpose(r);
    TENON_UNROLL
    for (int i = 0; i < VL; i++) store(reinterpret_cast<float*>(target + i * target_stride), r[i]);
  }
  /// The first rows of one.
  static TENON_INLINE void run_rows(long some, const T* source, long source_stride, T* target,
                                    long target_stride) {
    vf r[VL];
    TENON_UNROLL
    for (int i = 0; i < VL; i++) {
      const long row = i * rows_of_lane;
      r[i] = row < some ? lanes_of(source + row * source_stride, source_stride, some - 1 - row) : vf{};
    }
    transpose(r);
    TENON_UNROLL
    for (int i = 0; i < VL; i++) {
      T column[rows];
      store(reinterpret_cast<float*>(column), r[i]);
      copy_bytes(target + i * target_stride, column, some * static_cast<long>(sizeof(T)));
    }
  }
};
/// Elements of two lanes.
struct DoubleTile {
  static constexpr int rows = VL / 2, cols = VL / 2;
  template <int S>
  static TENON_INLINE void step(vf* r) {
    TENON_UNROLL
    for (int i = 0; i < rows; i++)
      if (!(i & S)) swap_blocks<2 * S>(r[i], r[i + S], typename MakeLaneList<VL>::type{});
  }
  static TENON_INLINE void run(const std::uint64_t* source, long source_stride, std::uint64_t* target,
                               long target_stride) {
    vf r[rows];
    TENON_UNROLL
    for (int i = 0; i < rows; i++) r[i] = load(reinterpret_cast<const float*>(source + i * source_stride));
    if constexpr (rows >= 8) step<4>(r);
    if constexpr (rows >= 4) step<2>(r);
    step<1>(r);
    TENON_UNROLL
    for (int i = 0; i < rows; i++) store(reinterpret_cast<float*>(target + i * target_stride), r[i]);
  }
};

template <class T>
static void transpose_elements(long rows, long cols, const T* source, long source_stride, T* target,
                               long target_stride) {
  for (long c = 0; c < cols; c++)
    for (long r = 0; r < rows; r++) target[c * target_stride + r] = source[r * source_stride + c];
}

template <class Tile, class T>
static void transpose_tiles(long rows, long cols, const T* source, long source_stride, T* target,
                            long target_stride) {
  if constexpr (requires { Tile::rows_of_lane; })
    if (rows == Tile::rows_of_lane && target_stride == rows)
      return Tile::run_lanes(cols, source, source_stride, target);
  if constexpr (!requires { Tile::rows_of_lane; }) {
    if (rows >= Tile::rows && cols >= Tile::cols) {
      // The last tiles overlap those before them.
      for (long c = 0; c < cols; c += Tile::cols)
        for (long r = 0; r < rows; r += Tile::rows) {
          const long row = r + Tile::rows <= rows ? r : rows - Tile::rows;
          const long column = c + Tile::cols <= cols ? c : cols - Tile::cols;
          Tile::run(source + row * source_stride + column, source_stride,
                    target + column * target_stride + row, target_stride);
        }
      return;
    }
  }
  const long whole_rows = rows / Tile::rows * Tile::rows, whole_cols = cols / Tile::cols * Tile::cols;
  long done_rows = whole_rows;  // of whole columns
  for (long c = 0; c < whole_cols; c += Tile::cols)
    for (long r = 0; r < whole_rows; r += Tile::rows)
      Tile::run(source + r * source_stride + c, source_stride, target + c * target_stride + r, target_stride);
  if constexpr (requires { Tile::rows_of_lane; }) {
    constexpr long few = 8;
    if (rows - whole_rows >= few) {
      for (long c = 0; c < whole_cols; c += Tile::cols)
        Tile::run_rows(rows - whole_rows, source + whole_rows * source_stride + c, source_stride,
                       target + c * target_stride + whole_rows, target_stride);
      done_rows = rows;
    }
  }
  transpose_elements(rows - done_rows, whole_cols, source + done_rows * source_stride, source_stride,
                     target + done_rows, target_stride);
  transpose_elements(rows, cols - whole_cols, source + whole_cols, source_stride,
                     target + whole_cols * target_stride, target_stride);
}

}  // namespace

void transpose_block_u8(long rows, long cols, const std::uint8_t* source, long source_stride,
                        std::uint8_t* target, long target_stride) {
  transpose_tiles<SmallTile<std::uint8_t>>(rows, cols, source, source_stride, target, target_stride);
}
void transpose_block_u16(long rows, long cols, const std::uint16_t* source, long source_stride,
                         std::uint16_t* target, long target_stride) {
  transpose_tiles<SmallTile<std::uint16_t>>(rows, cols, source, source_stride, target, target_stride);
}
void interleave_rows_u16(long pairs, long cols, const std::uint16_t* source, long source_stride,
                         std::uint16_t* target, long target_stride) {
  for (long i = 0; i < pairs; i++)
    SmallTile<std::uint16_t>::run_lanes(cols, source + 2 * i * source_stride, source_stride,
                                        target + i * target_stride);
}
void transpose_block_u64(long rows, long cols, const std::uint64_t* source, long source_stride,
                         std::uint64_t* target, long target_stride) {
  transpose_tiles<DoubleTile>(rows, cols, source, source_stride, target, target_stride);
}

}  // namespace tenon::cpu::TENON_ISA
