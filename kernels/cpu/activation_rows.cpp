// What is left to do to rows of a result that are still in the L1 cache. Built once per ISA.
#include "kernels/cpu/activation.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// Of one row at `c`, by f(vector, its column, its lanes).
template <class F>
TENON_INLINE void map_row(float* c, long cols, F f) {
  long j = 0;
  for (; j + VL <= cols; j += VL) store(c + j, f(load(c + j), j, VL));
  const int rest = static_cast<int>(cols - j);
  if (rest > 0) store_partial(c + j, f(load_partial(c + j, rest), j, rest), rest);
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
          for (long i = 0; i < rows; i++) {
            map_row(
                left.c + left.c_row[i],
                cols, [&](vf v, long, int) __attribute__((always_inline)) { return activate<kind>(a, v); });
          }
        });
  }
  // Apart: no product of the activation may be drawn into this addition, as the loops have none.
  if (!left.added) return;
  for (long i = 0; i < left.rows; i++) {
    const float* const added = left.added + left.added_row[i];
    map_row(
        left.c + left.c_row[i], left.cols, [&](vf v, long j, int lanes) __attribute__((always_inline)) {
          return v + load_lanes(added + j, lanes);
        });
  }
}

}  // namespace tenon::cpu::TENON_ISA
