// Rows of a sparse product, summed in registers. Built once per ISA.
#include "kernels/cpu/simd.h"
#include "kernels/cpu/spmm.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long ahead = 8;  // entries to prefetch ahead; sort_edges leaves room behind the last one
constexpr int line_vectors = 64 / (4 * VL) > 0 ? 64 / (4 * VL) : 1;

/// How an edge's weights meet the features of its row.
enum class Weights {
  none,
  entry,   // one for all features, in the entry
  one,     // for all features
  vector,  // for all lanes of a vector
  lane,    // where several fall on one vector
  each,    // for each feature
};

/// The columns that are summed at a time: vectors from column `first` on, of which the last has `last` lanes.
struct Columns {
  long first;
  int last;
};

/// Which weight goes with the lanes of each vector.
template <Weights Kind, int Vectors>
struct Groups {
  Groups(const Spmm&, const Columns&) {}
};
template <int Vectors>
struct Groups<Weights::vector, Vectors> {
  Groups(const Spmm& s, const Columns& columns) {
    for (int v = 0; v < Vectors; v++) of[v] = (columns.first + v * VL) * s.groups / s.features;
  }
  long of[Vectors];
};
template <int Vectors>
struct Groups<Weights::lane, Vectors> {
  Groups(const Spmm& s, const Columns& columns) {
    for (int v = 0; v < Vectors; v++) {
      const long feature = columns.first + v * VL;
      first[v] = feature * s.groups / s.features;
      const long rest = s.groups - first[v];
      count[v] = static_cast<int>(rest < VL ? rest : VL);
      for (int i = 0; i < VL; i++) {
        const long group = (feature + i) * s.groups / s.features - first[v];
        of[v][i] = static_cast<std::int32_t>(group < count[v] ? group : 0);
      }
    }
  }
  vf weights(const float* from, int v) const {
    return permute(load_partial(from + first[v], count[v]), of[v]);
  }
  long first[Vectors];
  int count[Vectors];
  vi of[Vectors];  // from the first on
};

template <int Vectors>
TENON_INLINE void prefetch(const float* from) {
  TENON_UNROLL
  for (int v = 0; v < Vectors; v += line_vectors) __builtin_prefetch(from + v * VL);
}

template <Weights Kind, int Vectors>
TENON_INLINE void sum_rows(const Spmm& s, long begin, long end, const Columns& columns, int last) {
  const SortedEdges::Entry* const entries = s.edges.entries;
  const Groups<Kind, Vectors> groups(s, columns);
  for (long r = begin; r < end; r++) {
    vf sum[Vectors] = {};
    const std::int32_t stop = s.edges.offsets[r + 1];
    for (std::int32_t e = s.edges.offsets[r]; e < stop; e++) {
      const float* const x = s.x + entries[e].source * s.x_stride + columns.first;
      prefetch<Vectors>(s.x + entries[e + ahead].source * s.x_stride + columns.first);
      const float* weights = nullptr;
      vf all = {};
      if constexpr (Kind >= Weights::one) weights = s.weights + entries[e].edge * s.weights_stride;
      if constexpr (Kind == Weights::entry) all = broadcast(entries[e].weight);
      if constexpr (Kind == Weights::one) all = broadcast(*weights);
      if constexpr (Kind == Weights::vector || Kind == Weights::lane)
        __builtin_prefetch(s.weights + entries[e + ahead].edge * s.weights_stride);
      if constexpr (Kind == Weights::each)
        prefetch<Vectors>(s.weights + entries[e + ahead].edge * s.weights_stride + columns.first);
      const auto add = [&](int v, int lanes) __attribute__((always_inline)) {
        const auto part = [&](const float* from) __attribute__((always_inline)) {
          return lanes == VL ? load(from + v * VL) : load_partial(from + v * VL, lanes);
        };
        if constexpr (Kind == Weights::none) sum[v] += part(x);
        if constexpr (Kind == Weights::entry || Kind == Weights::one) sum[v] += all * part(x);
        if constexpr (Kind == Weights::vector) sum[v] += broadcast(weights[groups.of[v]]) * part(x);
        if constexpr (Kind == Weights::lane) sum[v] += groups.weights(weights, v) * part(x);
        if constexpr (Kind == Weights::each) sum[v] += part(weights + columns.first) * part(x);
      };
      TENON_UNROLL
      for (int v = 0; v + 1 < Vectors; v++) add(v, VL);
      add(Vectors - 1, last);
    }
    float* const out = s.out + r * s.out_stride + columns.first;
    TENON_UNROLL
    for (int v = 0; v + 1 < Vectors; v++) store(out + v * VL, sum[v]);
    store_partial(out + (Vectors - 1) * VL, sum[Vectors - 1], last);
  }
}

using SumRows = void (*)(const Spmm&, long, long, const Columns&);

template <Weights Kind, int Vectors>
void sum_rows_of(const Spmm& s, long begin, long end, const Columns& columns) {
  if (columns.last == VL) {
    sum_rows<Kind, Vectors>(s, begin, end, columns, VL);
  } else {
    sum_rows<Kind, Vectors>(s, begin, end, columns, columns.last);
  }
}

constexpr int most_vectors = 8;

template <Weights Kind>
SumRows sum_rows_for(long vectors) {
  static constexpr SumRows table[most_vectors] = {
      sum_rows_of<Kind, 1>, sum_rows_of<Kind, 2>, sum_rows_of<Kind, 3>, sum_rows_of<Kind, 4>,
      sum_rows_of<Kind, 5>, sum_rows_of<Kind, 6>, sum_rows_of<Kind, 7>, sum_rows_of<Kind, 8>};
  return table[vectors - 1];
}

SumRows sum_rows_for(const Spmm& s, long vectors) {
  if (s.entries_hold_weights) return sum_rows_for<Weights::entry>(vectors);
  if (!s.weights) return sum_rows_for<Weights::none>(vectors);
  if (s.groups == 1) return sum_rows_for<Weights::one>(vectors);
  if (s.groups == s.features) return sum_rows_for<Weights::each>(vectors);
  if (s.features / s.groups % VL == 0) return sum_rows_for<Weights::vector>(vectors);
  return sum_rows_for<Weights::lane>(vectors);
}

}  // namespace

void spmm_rows(const Spmm& s, long begin, long end) {
  for (long first = 0; first < s.features; first += most_vectors * VL) {
    const long rest = s.features - first;
    const long width = rest < most_vectors * VL ? rest : most_vectors * VL;
    const long vectors = (width + VL - 1) / VL;
    sum_rows_for(s, vectors)(s, begin, end, {first, static_cast<int>(width - (vectors - 1) * VL)});
  }
}

}  // namespace tenon::cpu::TENON_ISA
