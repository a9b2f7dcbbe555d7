// Rows of a sparse product, summed in registers. Built once per ISA.
#include "kernels/cpu/simd.h"
#include "kernels/cpu/spmm.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr long ahead = 8;  // entries to prefetch ahead; csr_from_coo leaves room behind the last one

/// `Vectors` vectors of features from column `first` on; the last one has `last` lanes.
template <int Vectors>
TENON_INLINE void sum_rows(const Spmm& s, long begin, long end, long first, int last) {
  const Csr& m = s.matrix;
  for (long r = begin; r < end; r++) {
    vf sum[Vectors] = {};
    const std::int32_t stop = m.offsets[r + 1];
    for (std::int32_t e = m.offsets[r]; e < stop; e++) {
      const float* const x = s.x + m.entries[e].col * s.x_stride + first;
      const float* const later = s.x + m.entries[e + ahead].col * s.x_stride + first;
      TENON_UNROLL
      for (int v = 0; v<Vectors; v += 64 / (4 * VL)> 0 ? 64 / (4 * VL) : 1)
        __builtin_prefetch(later + v * VL);
      const vf weight = broadcast(m.entries[e].weight);
      TENON_UNROLL
      for (int v = 0; v + 1 < Vectors; v++) sum[v] += weight * load(x + v * VL);
      const float* const tail = x + (Vectors - 1) * VL;
      sum[Vectors - 1] += weight * (last == VL ? load(tail) : load_partial(tail, last));
    }
    float* const out = s.out + r * s.out_stride + first;
    TENON_UNROLL
    for (int v = 0; v + 1 < Vectors; v++) store(out + v * VL, sum[v]);
    store_partial(out + (Vectors - 1) * VL, sum[Vectors - 1], last);
  }
}

template <int Vectors>
void sum_rows_of(const Spmm& s, long begin, long end, long first, int last) {
  if (last == VL) {
    sum_rows<Vectors>(s, begin, end, first, VL);
  } else {
    sum_rows<Vectors>(s, begin, end, first, last);
  }
}

using SumRows = void (*)(const Spmm&, long, long, long, int);
constexpr int most_vectors = 8;
constexpr SumRows sum_rows_table[most_vectors] = {sum_rows_of<1>, sum_rows_of<2>, sum_rows_of<3>,
                                                  sum_rows_of<4>, sum_rows_of<5>, sum_rows_of<6>,
                                                  sum_rows_of<7>, sum_rows_of<8>};

}  // namespace

void spmm_rows(const Spmm& s, long begin, long end) {
  for (long first = 0; first < s.features; first += most_vectors * VL) {
    const long rest = s.features - first;
    const long width = rest < most_vectors * VL ? rest : most_vectors * VL;
    const long vectors = (width + VL - 1) / VL;
    sum_rows_table[vectors - 1](s, begin, end, first, static_cast<int>(width - (vectors - 1) * VL));
  }
}

}  // namespace tenon::cpu::TENON_ISA
