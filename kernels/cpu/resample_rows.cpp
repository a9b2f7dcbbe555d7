// Weighted sums of rows, and along a row. Built once per ISA.
#include "kernels/cpu/resample_rows.h"

#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

template <int Sums>
static void sum_some(const float* const* rows, const float* weights, float* to, long count, bool adds) {
  for (long i = 0; i < count; i += VL) {
    const int n = static_cast<int>(count - i < VL ? count - i : VL);
    const auto at = [&](const float* p) __attribute__((always_inline)) {
      return n == VL ? load(p + i) : load_partial(p + i, n);
    };
    vf sum = adds ? at(to) : vf{};
    TENON_UNROLL
    for (int r = 0; r < Sums; r++) sum += weights[r] * at(rows[r]);
    if (n == VL) {
      store(to + i, sum);
    } else {
      store_partial(to + i, sum, n);
    }
  }
}

template <int Taps>
static void along_few(const AlongRow& a, const float* __restrict row, float* __restrict to) {
  for (long x = 0; x < a.out; x++) {
    float sum = 0;
    TENON_UNROLL
    for (int t = 0; t < Taps; t++) sum += a.weights[t * a.out + x] * row[a.places[t * a.out + x]];
    to[x] = sum;
  }
}

/// The numbers of a row at VL places.
static TENON_INLINE vf at_places(const float* row, vi places) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_i32gather_ps(reinterpret_cast<__m512i>(places), row, sizeof(float)));
#elif defined(__AVX2__) && TENON_VL == 8
  return reinterpret_cast<vf>(_mm256_i32gather_ps(row, reinterpret_cast<__m256i>(places), sizeof(float)));
#else
  vf v{};
  TENON_UNROLL
  for (int i = 0; i < VL; i++) v[i] = row[places[i]];
  return v;
#endif
}

/// Pixels of one number each, of any number of taps.
static void along_pixels(const AlongRow& a, const float* row, float* to) {
  long x = 0;
  for (; x + VL <= a.out; x += VL) {
    vf sum{};
    for (long t = 0; t < a.taps; t++)
      sum += load(a.weights + t * a.out + x) * at_places(row, load(a.places + t * a.out + x));
    store(to + x, sum);
  }
  for (; x < a.out; x++) {
    float sum = 0;
    for (long t = 0; t < a.taps; t++) sum += a.weights[t * a.out + x] * row[a.places[t * a.out + x]];
    to[x] = sum;
  }
}

}  // namespace

void sum_rows(const float* const* rows, const float* weights, long sums, float* to, long count) {
  long r = 0;
  for (; r + 4 <= sums; r += 4) sum_some<4>(rows + r, weights + r, to, count, r > 0);
  for (; r + 2 <= sums; r += 2) sum_some<2>(rows + r, weights + r, to, count, r > 0);
  if (r < sums) sum_some<1>(rows + r, weights + r, to, count, r > 0);
}

void resample_row(const AlongRow& a, const float* row, float* to) {
  if (a.inner == 1 && a.taps == 2) return along_few<2>(a, row, to);
  if (a.inner == 1 && a.taps == 4) return along_few<4>(a, row, to);
  if (a.inner == 1) return along_pixels(a, row, to);
  for (long x = 0; x < a.out; x++) {
    const float* rows[8];
    float weights[8];
    for (long first = 0; first < a.taps; first += 4) {
      const long sums = a.taps - first < 4 ? a.taps - first : 4;
      for (long t = 0; t < sums; t++) {
        rows[t] = row + a.places[(first + t) * a.out + x] * a.inner;
        weights[t] = a.weights[(first + t) * a.out + x];
      }
      float* const pixel = to + x * a.inner;
      if (first > 0) {
        for (long t = 0; t < sums; t++) sum_some<1>(rows + t, weights + t, pixel, a.inner, true);
      } else {
        sum_rows(rows, weights, sums, pixel, a.inner);
      }
    }
  }
}

}  // namespace tenon::cpu::TENON_ISA
