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

/// Of numbers or vectors. NaN stays.
template <Reduce R, class V>
TENON_INLINE V folded(V a, V b) {
  if constexpr (R == Reduce::sum) return a + b;
  if constexpr (R == Reduce::prod) return a * b;
  if constexpr (R == Reduce::max) return ((a > b) | (a != a)) ? a : b;
  if constexpr (R == Reduce::min) return ((a < b) | (a != a)) ? a : b;
}

template <class V, int... I>
TENON_INLINE V rotated(V v, LaneList<I...>) {  // by half of its lanes
  return __builtin_shufflevector(v, v, ((I + sizeof...(I) / 2) % sizeof...(I))...);
}
/// All lanes, in vectors to the end: pairs, as far apart as there are lanes left.
template <Reduce R, class V>
TENON_INLINE double fold_lanes_of_doubles(V v) {
  constexpr int lanes = sizeof(V) / sizeof(double);
  v = folded<R>(v, rotated(v, typename MakeLaneList<lanes>::type{}));
  if constexpr (lanes == 2) {
    return v[0];
  } else {
    typedef double Half __attribute__((vector_size(sizeof(V) / 2)));
    Half half;
    std::memcpy(&half, &v, sizeof half);
    return fold_lanes_of_doubles<R>(half);
  }
}

/// So many chains, in vectors of this ISA: g++ takes larger ones apart.
template <int count>
struct DoubleChains {
  static constexpr int lanes = count < VL / 2 ? count : VL / 2, vectors = count / lanes;
  typedef double V __attribute__((vector_size(lanes * sizeof(double))));
  V parts[vectors];

  explicit TENON_INLINE DoubleChains(double identity) {
    TENON_UNROLL
    for (int i = 0; i < vectors; i++) parts[i] = V{} + identity;
  }
  template <Reduce R, class Row>
  TENON_INLINE void fold(const Row& row, long c) {
    TENON_UNROLL
    for (int i = 0; i < vectors; i++)
      parts[i] = folded<R>(parts[i], row.template at<V>(c + static_cast<long>(i) * lanes));
  }
  /// All of them: pairs, as far apart as there are chains left.
  template <Reduce R>
  TENON_INLINE double joined() {
    TENON_UNROLL
    for (int half = vectors / 2; half > 0; half /= 2) {
      TENON_UNROLL
      for (int i = 0; i < half; i++) parts[i] = folded<R>(parts[i], parts[i + half]);
    }
    return fold_lanes_of_doubles<R>(parts[0]);
  }
};

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

/// Folds elements of a row from c on, as many as fill the chains, and says where it ended.
template <Reduce R, int count, class Row>
TENON_INLINE long fold_chains_of_doubles(double& acc, const Row& row, long c, long cols, double identity) {
  if (cols - c < count) return c;
  DoubleChains<count> chains(identity);
  for (; c + count <= cols; c += count) chains.template fold<R>(row, c);
  acc = folded<R>(acc, chains.template joined<R>());
  return c;
}
template <Reduce R, class Row>
TENON_INLINE double fold_row_of_doubles(double acc, const Row& row, long cols, double identity) {
  long c = fold_chains_of_doubles<R, 32>(acc, row, 0, cols, identity);
  c = fold_chains_of_doubles<R, 4>(acc, row, c, cols, identity);
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
