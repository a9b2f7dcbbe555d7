// What is left to do to rows of a result that are still in the L1 cache. Built once per ISA.
#include "kernels/cpu/activation.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Vectors of all rows, by f(vector, its row, its column, its lanes). One loop, not one in another: what f
// needs of constants is loaded once, and rows are short.
template <bool IsWhole, class F>
TENON_INLINE void map_vectors(const RowsLeft& left, long rows, long cols, F f) {
  float* const c = left.c;
  const long* const c_row = left.c_row;
  for (long i = 0, j = 0; i < rows;) {
    float* const at = c + c_row[i] + j;
    const int lanes = IsWhole || cols - j > VL ? VL : static_cast<int>(cols - j);
    store_lanes(at, f(load_lanes(at, lanes), i, j, lanes), lanes);
    j += VL;
    if (j >= cols) j = 0, i++;
  }
}

template <class F>
TENON_INLINE void map_rows(const RowsLeft& left, long rows, long cols, F f) {
  if (cols > 0 && cols % VL == 0)
    map_vectors<true>(left, rows, cols, f);
  else
    map_vectors<false>(left, rows, cols, f);
}

}  // namespace

void finish_rows(const Activation& activation, const RowsLeft& left) {
  if (!is_short(activation.kind)) {
    // Narrow rows that lie one behind the other are one row.
    bool is_one = left.cols % VL != 0;
    for (long i = 1; is_one && i < left.rows; i++) is_one = left.c_row[i] == left.c_row[0] + i * left.cols;
    with_kind(
        activation.kind, [&]<Activation::Kind kind>() __attribute__((noinline)) {
          const Activation a = activation;
          const long rows = is_one ? 1 : left.rows, cols = is_one ? left.rows * left.cols : left.cols;
          map_rows(
              left, rows, cols, [&](vf v, long, long, int) __attribute__((always_inline)) {
                return activate<kind>(a, v);
              });
        });
  }
  // Apart: no product of the activation may be drawn into this addition, as the loops have none.
  if (!left.added) return;
  map_rows(
      left, left.rows, left.cols, [&](vf v, long i, long j, int lanes) __attribute__((always_inline)) {
        return v + load_lanes(left.added + left.added_row[i] + j, lanes);
      });
}

}  // namespace tenon::cpu::TENON_ISA
