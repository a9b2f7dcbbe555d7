// Row and column reductions of floats on vectors. Part of loop_ops_simd.cpp, built once per ISA.
#pragma once
#include "kernels/cpu/loop_ops.h"
#include "kernels/cpu/loop_simd_memory.h"
#include "kernels/cpu/math.h"

namespace tenon::cpu::TENON_ISA {

namespace {

struct Add {
  static TENON_INLINE vf run(vf a, vf b) { return a + b; }
};
struct Min {
  static TENON_INLINE vf run(vf a, vf b) { return min(a, b); }
};
struct Max {
  static TENON_INLINE vf run(vf a, vf b) { return max(a, b); }
};

/// Where the vectors of a row end; a row of one vector is a rest.
struct RowShape {
  explicit TENON_INLINE RowShape(long cols)
      : fours(cols / (4 * VL) * (4 * VL)),
        ones(cols <= VL ? 0 : cols / VL * VL),
        rest(static_cast<int>(cols - ones)),
        inside(iota() < rest) {}
  long fours, ones;  // columns
  int rest;
  vi inside;  // lanes of the rest
};
template <class Numbers, class Map>
TENON_INLINE vf rest_of_row(const typename Numbers::Element* row, const RowShape& shape, vf identity,
                            Map map) {
  const vf last = map(Numbers::get(row + shape.ones, shape.rest));
  return shape.inside ? last : identity;
}
/// The lanes of row sums (or maxima ...) in four chains, so that latency does not count.
template <class Combine, class Numbers, class Map>
TENON_INLINE vf fold_row(const typename Numbers::Element* row, const RowShape& shape, vf identity, Map map) {
  vf acc[4] = {identity, identity, identity, identity};
  long c = 0;
  for (; c < shape.fours; c += 4 * VL) {
    TENON_UNROLL
    for (int u = 0; u < 4; u++) acc[u] = Combine::run(acc[u], map(Numbers::get(row + c + u * VL)));
  }
  for (; c < shape.ones; c += VL) acc[0] = Combine::run(acc[0], map(Numbers::get(row + c)));
  if (shape.rest > 0) acc[1] = Combine::run(acc[1], rest_of_row<Numbers>(row, shape, identity, map));
  return Combine::run(Combine::run(acc[0], acc[1]), Combine::run(acc[2], acc[3]));
}

template <class Combine, int half>
TENON_INLINE void fold_halves(vf* rows) {
  if constexpr (half > 0) {
    TENON_UNROLL
    for (int i = 0; i < half; i++) {
      swap_blocks<half>(rows[i], rows[i + half], typename MakeLaneList<VL>::type{});
      rows[i] = Combine::run(rows[i], rows[i + half]);
    }
    fold_halves<Combine, half / 2>(rows);
  }
}
/// Folds the lanes of VL rows at once: lane i of the result belongs to rows[i]. The order is that of one row.
template <class Combine>
TENON_INLINE vf fold_lanes(vf* rows) {
  fold_halves<Combine, VL / 2>(rows);
  return rows[0];
}
template <class Combine, int half, int... I>
TENON_INLINE vf fold_half(vf row, LaneList<I...> lanes) {
  if constexpr (half == 0)
    return row;
  else
    return fold_half<Combine, half / 2>(Combine::run(row, __builtin_shufflevector(row, row, (I ^ half)...)),
                                        lanes);
}
/// Of one row.
template <class Combine>
TENON_INLINE float fold_lanes_of(vf row) {
  return fold_half<Combine, VL / 2>(row, typename MakeLaneList<VL>::type{})[0];
}

typedef double vd __attribute__((vector_size(VL * 8)));
typedef double vd_unaligned __attribute__((vector_size(VL * 8), aligned(8), may_alias));

TENON_INLINE double combine(Add, double acc, float x) { return acc + static_cast<double>(x); }
TENON_INLINE float combine(Max, float acc, float x) { return acc > x || acc != acc ? acc : x; }
TENON_INLINE float combine(Min, float acc, float x) { return acc < x || acc != acc ? acc : x; }

TENON_INLINE void fold_into(Add, double* acc, vf x) {
  auto* const to = reinterpret_cast<vd_unaligned*>(acc);
  *to = *to + __builtin_convertvector(x, vd);
}
template <class Extreme>
TENON_INLINE void fold_into(Extreme, float* acc, vf x) {
  store(acc, Extreme::run(load(acc), x));
}

/// map_of(r) is what is done to the values of row r before they are folded.
template <class Combine, class Accumulator, class Numbers = Floats, class MapOf>
TENON_INLINE void fold_rows(void* accumulators, const OpArgs& args, vf identity, MapOf map_of) {
  const OpArgs tile = args;  // what is written may not lie here
  auto* const acc = static_cast<Accumulator*>(accumulators);
  const auto* const data = static_cast<const typename Numbers::Element*>(tile.in[0]);
  const RowShape shape(tile.cols);
  const auto row = [&](long r) __attribute__((always_inline)) {
    return fold_row<Combine, Numbers>(data + r * tile.in_pitch[0], shape, identity, map_of(r));
  };
  long r = 0;
  if (shape.ones == 0) {  // the same in registers
    for (; r + VL <= tile.rows; r += VL) {
      vf lanes[VL];
      TENON_UNROLL
      for (int i = 0; i < VL; i++)
        lanes[i] = rest_of_row<Numbers>(data + (r + i) * tile.in_pitch[0], shape, identity, map_of(r + i));
      fold_into(Combine{}, acc + r, fold_lanes<Combine>(lanes));
    }
  }
  for (; r + VL <= tile.rows; r += VL) {
    vf lanes[VL];
    for (long i = 0; i < VL; i++) lanes[i] = row(r + i);
    fold_into(Combine{}, acc + r, fold_lanes<Combine>(lanes));
  }
  for (; r < tile.rows; r++) acc[r] = combine(Combine{}, acc[r], fold_lanes_of<Combine>(row(r)));
}

constexpr auto same = [](long) { return [](vf x) { return x; }; };
constexpr auto square = [](long) { return [](vf x) { return x * x; }; };

template <class Numbers>
void fold_rows_sum(void* acc, const OpArgs& tile, long) {
  fold_rows<Add, double, Numbers>(acc, tile, vf{}, same);
}
template <class Numbers>
void fold_rows_sum_squares(void* acc, const OpArgs& tile, long) {
  fold_rows<Add, double, Numbers>(acc, tile, vf{}, square);
}
template <class Numbers>
void fold_rows_sum_squared_differences(void* acc, const OpArgs& tile, long) {
  const auto* const shifts = static_cast<const float*>(tile.in[1]);
  fold_rows<Add, double, Numbers>(acc, tile, vf{}, [&](long r) {
    const vf shift = broadcast(shifts[r * tile.in_pitch[1]]);
    return [shift](vf x) { return (x - shift) * (x - shift); };
  });
}
template <class Numbers>
void fold_rows_max(void* acc, const OpArgs& tile, long) {
  fold_rows<Max, float, Numbers>(acc, tile, broadcast(-infinity), same);
}
template <class Numbers>
void fold_rows_min(void* acc, const OpArgs& tile, long) {
  fold_rows<Min, float, Numbers>(acc, tile, broadcast(infinity), same);
}
template <class Numbers>
constexpr FloatFolds folds_of_rows = {fold_rows_sum<Numbers>, fold_rows_sum_squares<Numbers>,
                                      fold_rows_sum_squared_differences<Numbers>, fold_rows_max<Numbers>,
                                      fold_rows_min<Numbers>};

/// Folds `Vectors` vectors of columns: even rows and odd ones.
template <class Combine, class Numbers, int Vectors, class Accumulator, class Map>
TENON_INLINE void fold_few_columns(Accumulator* acc, const typename Numbers::Element* data, long pitch,
                                   long rows, vf identity, Map map) {
  vf folded[Vectors][2];
  TENON_UNROLL
  for (int i = 0; i < Vectors; i++) folded[i][0] = folded[i][1] = identity;
  const auto fold = [&](long r, int half) __attribute__((always_inline)) {
    TENON_UNROLL
    for (int i = 0; i < Vectors; i++)
      folded[i][half] = Combine::run(folded[i][half], map(Numbers::get(data + r * pitch + i * VL)));
  };
  long r = 0;
  for (; r + 2 <= rows; r += 2) {
    fold(r, 0);
    fold(r + 1, 1);
  }
  if (r < rows) fold(r, 0);
  TENON_UNROLL
  for (int i = 0; i < Vectors; i++)
    fold_into(Combine{}, acc + i * VL, Combine::run(folded[i][0], folded[i][1]));
}
template <class Combine, class Accumulator, class Numbers, class Map>
TENON_INLINE void fold_columns(void* accumulators, const OpArgs& tile, vf identity, Map map) {
  auto* const acc = static_cast<Accumulator*>(accumulators);
  const auto* const data = static_cast<const typename Numbers::Element*>(tile.in[0]);
  const long pitch = tile.in_pitch[0], rows = tile.rows;
  long c = 0;
  for (; c + 4 * VL <= tile.cols; c += 4 * VL)
    fold_few_columns<Combine, Numbers, 4>(acc + c, data + c, pitch, rows, identity, map);
  for (; c + VL <= tile.cols; c += VL)
    fold_few_columns<Combine, Numbers, 1>(acc + c, data + c, pitch, rows, identity, map);
  const int rest = static_cast<int>(tile.cols - c);
  if (rest == 0) return;
  vf last = identity;
  for (long r = 0; r < rows; r++) last = Combine::run(last, map(Numbers::get(data + r * pitch + c, rest)));
  for (int i = 0; i < rest; i++) acc[c + i] = combine(Combine{}, acc[c + i], last[i]);
}
template <class Numbers>
void fold_columns_sum(void* acc, const OpArgs& tile, long) {
  fold_columns<Add, double, Numbers>(acc, tile, vf{}, same(0));
}
template <class Numbers>
void fold_columns_sum_squares(void* acc, const OpArgs& tile, long) {
  fold_columns<Add, double, Numbers>(acc, tile, vf{}, square(0));
}
template <class Numbers>
void fold_columns_max(void* acc, const OpArgs& tile, long) {
  fold_columns<Max, float, Numbers>(acc, tile, broadcast(-infinity), same(0));
}
template <class Numbers>
void fold_columns_min(void* acc, const OpArgs& tile, long) {
  fold_columns<Min, float, Numbers>(acc, tile, broadcast(infinity), same(0));
}
template <class Numbers>
constexpr FloatFolds folds_of_columns = {fold_columns_sum<Numbers>, fold_columns_sum_squares<Numbers>,
                                         nullptr, fold_columns_max<Numbers>, fold_columns_min<Numbers>};

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
