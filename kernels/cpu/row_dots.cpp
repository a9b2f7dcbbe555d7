// Dot products of rows: a few rows by all columns at a time, whose sums are vectors until the end of the
// depth. Built once per ISA.
#include "kernels/cpu/row_dots.h"

#include "kernels/cpu/activation.h"
#include "kernels/cpu/row_walk.h"
#include "kernels/cpu/simd_half.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long max_cols = VL / 2;
// Sums in registers, beside a column's part of B each and a part of A.
constexpr int sums_in_registers = vector_registers == 32 ? 24 : 10;
constexpr int rows_at_once(int cols) {
  return cols >= sums_in_registers ? 1 : sums_in_registers / cols > 8 ? 8 : sums_in_registers / cols;
}
// Rows whose results are finished together.
constexpr long block_rows = 128;

constexpr long smaller(long a, long b) { return a < b ? a : b; }

struct Dots {
  const RowGemm& g;
  const long* a_row;  // where rows of A begin
  float* sums;        // [row][column]
};

// Of 2 * S vectors whose groups of 2 * S lanes wait for their sum: S vectors whose groups have S lanes. In
// the end lane i is the sum of vector i.
template <int S>
TENON_INLINE void add_halves(vf* r) {
  TENON_UNROLL
  for (int i = 0; i < S; i++) {
    swap_blocks<S>(r[i], r[i + S], typename MakeLaneList<VL>::type{});
    r[i] += r[i + S];
  }
  if constexpr (S > 1) add_halves<S / 2>(r);
}

// The sums of the lanes of Count vectors.
template <int Count>
TENON_INLINE void store_sums(const vf* from, float* to) {
  TENON_UNROLL
  for (int first = 0; first < Count; first += VL) {
    vf r[VL] = {};
    TENON_UNROLL
    for (int i = 0; i < VL; i++)
      if (first + i < Count) r[i] = from[first + i];
    add_halves<VL / 2>(r);
    store_lanes(to + first, r[0], Count - first < VL ? Count - first : VL);
  }
}

// Rows [first, first + Rows) of a block.
template <int Rows, int Cols>
__attribute__((noinline)) void dots_of(const Dots& d, long first) {
  const RowGemm& g = d.g;
  const long depth = g.depth();
  vf sum[Rows][Cols] = {};
  const auto add = [&](const float* const* a, const float* b, long k, int lanes)
      __attribute__((always_inline)) {
    vf factor[Cols];
    TENON_UNROLL
    for (int j = 0; j < Cols; j++) factor[j] = load_lanes(b + j * depth + k, lanes);
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) {
      const vf x = load_lanes(a[i] + k, lanes);
      TENON_UNROLL
      for (int j = 0; j < Cols; j++) sum[i][j] += x * factor[j];
    }
  };
  for (long s = 0; s < g.runs; s++) {
    const float* a[Rows];
    TENON_UNROLL
    for (int i = 0; i < Rows; i++) a[i] = g.a + d.a_row[first + i] + (g.run_offsets ? g.run_offsets[s] : 0);
    const float* const b = g.b + s * g.run_length;
    long k = 0;
    for (; k + VL <= g.run_length; k += VL) add(a, b, k, VL);
    if (k < g.run_length) add(a, b, k, static_cast<int>(g.run_length - k));
  }
  store_sums<Rows * Cols>(&sum[0][0], d.sums + first * Cols);
}

template <int Cols>
void dots_of_block(const Dots& d, long rows) {
  constexpr int together = rows_at_once(Cols);
  long row = 0;
  for (; row + together <= rows; row += together) dots_of<together, Cols>(d, row);
  for (; row < rows; row++) dots_of<1, Cols>(d, row);
}

using DotsOfBlock = void (*)(const Dots&, long rows);
template <int... I>
DotsOfBlock pick(long cols, LaneList<I...>) {
  static constexpr DotsOfBlock kernels[] = {dots_of_block<I + 1>...};
  return kernels[cols - 1];
}

// Where rows lie, from row `first` on.
void walk_rows(const RowMap& map, long first, long rows, long* to) {
  RowWalk walk(map, first);
  for (long i = 0; i < rows; i++) to[i] = walk.next();
}

// The epilogue of `sums`, which lie as the columns of C do, and the rows of C from row `first` on.
void finish(const RowGemm& g, long first, const long* c_row, long rows, float* sums) {
  const Epilogue& e = g.epilogue;
  const long cols = g.cols;
  const auto each = [&](auto function) __attribute__((always_inline)) {
    for (long i = 0; i < rows; i++) {
      for (long j = 0; j < cols; j++) function(sums[i * cols + j], c_row[i], j);
    }
  };
  if (e.bias) each([&](float& x, long, long j) { x += e.bias[j]; });
  if (e.residual) {
    each([&](float& x, long row, long j) {
      x += e.residual[(e.residual_rows ? e.residual_rows[row] : row) * e.residual_stride + j];
    });
  }
  const long count = rows * cols;
  for (long i = 0; i < count; i += VL) {
    const int lanes = static_cast<int>(smaller(VL, count - i));
    vf x[1][1] = {{load_lanes(sums + i, lanes)}};
    activate_vectors(e.activation, x);
    store_lanes(sums + i, x[0][0], lanes);
  }
  if (leaves_rows(e.activation, nullptr)) {
    const long start = 0;
    finish_rows(e.activation, {sums, &start, nullptr, nullptr, 1, count});
  }
  if (e.added) each([&](float& x, long row, long j) { x += e.added[row * e.added_stride + j]; });
  // A hook has rows that lie one behind the other.
  if (e.hook) e.hook(e.context, sums, cols, g.hook_row + first, rows, g.hook_col, cols);
  if (g.hook_stores) return;
  for (long i = 0; i < rows; i++) {
    const float* const from = sums + i * cols;
    const int lanes = static_cast<int>(cols);
    if (g.c_halves)
      narrow_row(from, cols, g.c_halves + c_row[i] * g.c_stride);
    else
      store_lanes(g.c + c_row[i] * g.c_stride, load_lanes(from, lanes), lanes);
  }
}

}  // namespace

bool row_dots_pay(long runs, long run_length, long cols) {
  // In multiply-adds of vectors: the sum of a vector's lanes takes a few, and a tile no fewer than one a row
  // of B.
  constexpr long sum_of_lanes = 4;
  return cols <= max_cols && (runs * ((run_length + VL - 1) / VL) + sum_of_lanes) * cols < runs * run_length;
}

void row_dots(const RowGemm& g, long begin, long end) {
  long a_row[block_rows], c_row[block_rows];
  float sums[block_rows * max_cols];
  const DotsOfBlock dots = pick(g.cols, MakeLaneList<max_cols>::type{});
  for (long first = begin; first < end; first += block_rows) {
    const long rows = smaller(block_rows, end - first);
    walk_rows(g.a_rows, first, rows, a_row);
    walk_rows(g.c_rows, first, rows, c_row);
    dots({g, a_row, sums}, rows);
    finish(g, first, c_row, rows, sums);
  }
}

}  // namespace tenon::cpu::TENON_ISA
