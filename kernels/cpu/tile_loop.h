// The loop of the register tile, for one form of its operands. Built once per ISA.
#pragma once
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

// One step of the tile, `Depth` words of A deep. A form has
//   depth             words of A in a whole step
//   vector_words      words of B in a vector of columns
//   Stored            what is loaded of B for a vector of columns
//   load(p)           -> Stored
//   factor<k>(stored) -> a vector of columns for word k
//   add(sum, x, factor)
template <class Form, int Depth, int Rows, int Vectors, class Pointers>
static TENON_INLINE void add_step(vf (&sum)[Rows][Vectors], const Pointers& a, long k, const float* b,
                                  long b_panel_stride) {
  typename Form::Stored stored[Vectors];
  TENON_UNROLL
  for (int j = 0; j < Vectors; j++) {
    stored[j] = Form::load(b + j / panel_vectors * b_panel_stride + j % panel_vectors * Form::vector_words);
  }
  const auto add_word = [&]<int Word>() __attribute__((always_inline)) {
    vf factor[Vectors];
    TENON_UNROLL
    for (int j = 0; j < Vectors; j++) factor[j] = Form::template factor<Word>(stored[j]);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      const vf x = broadcast(a.at(i, k + Word));
      TENON_UNROLL
      for (int j = 0; j < Vectors; j++) sum[i][j] = Form::add(sum[i][j], x, factor[j]);
    }
  };
  add_word.template operator()<0>();
  if constexpr (Depth == 2) add_word.template operator()<1>();
}

template <class Form, int Rows, int Panels, bool Uniform>
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
      long k = 0;
      for (; k + Form::depth <= t.run_length; k += Form::depth) {
        if constexpr (Panels == 1) {
          __builtin_prefetch(b + prefetch_ahead * t.b_row_stride);
          if constexpr (panel_vectors * Form::vector_words > 16) {
            __builtin_prefetch(b + prefetch_ahead * t.b_row_stride + 16);
          }
        }
        add_step<Form, Form::depth>(sum, a, k, b, t.b_panel_stride);
        b += t.b_row_stride;
      }
      if constexpr (Form::depth == 2) {
        if (k < t.run_length) {
          add_step<Form, 1>(sum, a, k, b, t.b_panel_stride);
          b += t.b_row_stride;
        }
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

template <class Form, bool Uniform, int... I>
static TileKernel pick(const TileCall& call, LaneList<I...>) {
  static constexpr TileKernel one_panel[] = {run_tile<Form, I + 1, 1, Uniform>...};
  static constexpr TileKernel several[] = {run_tile<Form, 1, panels_at_once(1), Uniform>,
                                           run_tile<Form, 2, panels_at_once(2), Uniform>,
                                           run_tile<Form, 3, panels_at_once(3), Uniform>};
  return call.several_panels && call.rows <= 3 ? several[call.rows - 1] : one_panel[call.rows - 1];
}

template <class Form>
static TileKernel pick_tile(const TileCall& call) {
  using Rows = MakeLaneList<tile_rows>::type;
  if constexpr (tile_rows > 8) {
    if (call.is_uniform) return pick<Form, true>(call, Rows{});
  }
  return pick<Form, false>(call, Rows{});
}

}  // namespace tenon::cpu::TENON_ISA
