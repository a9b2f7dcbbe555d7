// Folds of rows of doubles on vectors of a fixed size: 32 chains, so that latency does not count, then 4,
// then one element after the other. The order, and so the result, is the same for all ISAs. Part of
// loop_ops_reduce.cpp.
#pragma once
#include <cstring>

#include "base/reduce.h"
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

typedef double doubles8 __attribute__((vector_size(64)));
typedef double doubles4 __attribute__((vector_size(32)));
typedef double doubles2 __attribute__((vector_size(16)));

/// Of numbers or vectors. NaN stays.
template <Reduce R, class V>
TENON_INLINE V folded(V a, V b) {
  if constexpr (R == Reduce::sum) return a + b;
  if constexpr (R == Reduce::prod) return a * b;
  if constexpr (R == Reduce::max) return ((a > b) | (a != a)) ? a : b;
  if constexpr (R == Reduce::min) return ((a < b) | (a != a)) ? a : b;
}
template <Reduce R>
TENON_INLINE double fold_of(doubles4 v) {
  const doubles2 pair = folded<R>(__builtin_shufflevector(v, v, 0, 1), __builtin_shufflevector(v, v, 2, 3));
  return folded<R>(pair[0], pair[1]);
}
template <Reduce R>
TENON_INLINE double fold_of(doubles8 v) {
  return fold_of<R>(
      folded<R>(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)));
}

/// What is folded of a row: its elements, squared where `Squares`, less a shift where `Shifted`.
template <bool Squares, bool Shifted>
struct DoubleRow {
  const double* data;
  double shift;

  template <class V>
  TENON_INLINE V at(long c) const {
    V v;
    std::memcpy(&v, data + c, sizeof v);
    if constexpr (Shifted) v = v - shift;
    return Squares ? v * v : v;
  }
};

template <Reduce R, class Row>
TENON_INLINE double fold_row_of_doubles(double acc, const Row& row, long cols, double identity) {
  long c = 0;
  if (cols >= 32) {
    doubles8 chains[4];
    TENON_UNROLL
    for (int i = 0; i < 4; i++) chains[i] = doubles8{} + identity;
    for (; c + 32 <= cols; c += 32) {
      TENON_UNROLL
      for (int i = 0; i < 4; i++) chains[i] = folded<R>(chains[i], row.template at<doubles8>(c + 8 * i));
    }
    acc = folded<R>(acc,
                    fold_of<R>(folded<R>(folded<R>(chains[0], chains[2]), folded<R>(chains[1], chains[3]))));
  }
  if (c + 4 <= cols) {
    doubles4 chain = doubles4{} + identity;
    for (; c + 4 <= cols; c += 4) chain = folded<R>(chain, row.template at<doubles4>(c));
    acc = folded<R>(acc, fold_of<R>(chain));
  }
  for (; c < cols; ++c) acc = folded<R>(acc, row.template at<double>(c));
  return acc;
}

/// in[1] holds the shifts, one a row.
template <Reduce R, bool Squares, bool Shifted>
void fold_rows_of_doubles(void* accumulators, const OpArgs& args, long) {
  const OpArgs tile = args;  // what is written may not lie here
  auto* const all = static_cast<double*>(accumulators);
  const auto* const data = static_cast<const double*>(tile.in[0]);
  const auto* const shifts = static_cast<const double*>(tile.in[1]);
  for (long r = 0; r < tile.rows; ++r)
    all[r] = fold_row_of_doubles<R>(
        all[r],
        DoubleRow<Squares, Shifted>{data + r * tile.in_pitch[0], Shifted ? shifts[r * tile.in_pitch[1]] : 0},
        tile.cols, Fold<R, double>::identity());
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
