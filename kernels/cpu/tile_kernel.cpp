// The register tile kernels, one instance per number of rows. Built once per ISA.
#include "kernels/cpu/tile_kernel.h"

namespace tenon::cpu::TENON_ISA {

// Addresses of the rows of A at one run. Rows at equal distances share pointers (base + 0, 1, 2 strides),
// which keeps 14 of them in registers; up to 8 rows fit anyway.
template <int Rows, bool Uniform>
struct RowPointers {
  const float* row[Rows];
  TENON_INLINE RowPointers(const Tile& t, const float* a) {
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) row[i] = a + t.a_row[i];
  }
  TENON_INLINE float at(int i, long k) const { return row[i][k]; }
};
template <int Rows>
struct RowPointers<Rows, true> {
  const float* third[(Rows + 2) / 3];
  long stride;
  TENON_INLINE RowPointers(const Tile& t, const float* a) : stride(t.a_stride) {
    TENON_UNROLL
    for (int i = 0; i < (Rows + 2) / 3; i++) third[i] = a + t.a_row[0] + 3 * i * stride;
  }
  TENON_INLINE float at(int i, long k) const { return third[i / 3][i % 3 * stride + k]; }
};

// Adds a row of `vectors` vectors, which moves with the rows, to the sums.
template <int Rows, int Vectors>
static TENON_INLINE void add_rows(vf (&sum)[Rows][Vectors], const float* from, const long* row) {
  TENON_UNROLL
  for (int i = 0; i < Rows; i++) {
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) sum[i][j] += load(from + row[i] + j * VL);
  }
}

template <int Rows, int Panels, bool Uniform>
static __attribute__((noinline)) void run_tile(const Tile& t) {
  constexpr int vectors = Panels * panel_vectors;
  constexpr int prefetch_ahead = 24;  // rows of B
  for (long panel = 0; panel < t.panels; panel += Panels) {
    const long col = panel * panel_cols;
    float* c = t.c + col;
    vf sum[Rows][vectors];
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < vectors; j++) sum[i][j] = vf{};
      __builtin_prefetch(c + t.c_row[i], 1);
    }
    if (t.residual) {
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) __builtin_prefetch(t.residual + col + t.residual_row[i]);
    }
    const float* b = t.b + panel * t.b_panel_stride;
    for (long s = 0; s < t.runs; s++) {
      const RowPointers<Rows, Uniform> a(t, t.a + (t.run_offsets ? t.run_offsets[s] : 0));
      for (long k = 0; k < t.run_length; k++) {
        vf factor[vectors];
        TENON_UNROLL
        for (int j = 0; j < vectors; j++) {
          factor[j] = load(b + j / panel_vectors * t.b_panel_stride + j % panel_vectors * VL);
        }
        if constexpr (Panels == 1) {
          __builtin_prefetch(b + prefetch_ahead * t.b_row_stride);
          if constexpr (panel_cols > 16) __builtin_prefetch(b + prefetch_ahead * t.b_row_stride + 16);
        }
        TENON_UNROLL
        for (int i = 0; i < Rows; i++) {
          const vf x = broadcast(a.at(i, k));
          TENON_UNROLL
          for (int j = 0; j < vectors; j++) sum[i][j] += x * factor[j];
        }
        b += t.b_row_stride;
      }
    }
    if (t.partial) add_rows(sum, t.partial + col, t.partial_row);
    if (t.bias) {
      TENON_UNROLL
      for (int j = 0; j < vectors; j++) {
        const vf bias = load(t.bias + col + j * VL);
        TENON_UNROLL
        for (int i = 0; i < Rows; i++) sum[i][j] += bias;
      }
    }
    if (t.residual) add_rows(sum, t.residual + col, t.residual_row);
    if (t.relu) {
      TENON_UNROLL
      for (int i = 0; i < Rows; i++) {
        TENON_UNROLL
        for (int j = 0; j < vectors; j++) sum[i][j] = max_or_b(vf{}, sum[i][j]);
      }
    }
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      TENON_UNROLL
      for (int j = 0; j < vectors; j++) store(c + t.c_row[i] + j * VL, sum[i][j]);
    }
  }
}

template <bool Uniform, int... I>
static TileKernel pick(int rows, bool several_panels, LaneList<I...>) {
  static constexpr TileKernel one_panel[] = {run_tile<I + 1, 1, Uniform>...};
  static constexpr TileKernel several[] = {run_tile<1, panels_at_once(1), Uniform>,
                                           run_tile<2, panels_at_once(2), Uniform>,
                                           run_tile<3, panels_at_once(3), Uniform>};
  return several_panels && rows <= 3 ? several[rows - 1] : one_panel[rows - 1];
}

TileKernel tile_kernel(int rows, bool several_panels, bool uniform_a_stride) {
  using Rows = MakeLaneList<tile_rows>::type;
  if constexpr (tile_rows > 8) {
    if (uniform_a_stride) return pick<true>(rows, several_panels, Rows{});
  }
  return pick<false>(rows, several_panels, Rows{});
}

}  // namespace tenon::cpu::TENON_ISA
