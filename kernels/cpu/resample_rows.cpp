// Weighted sums of rows, and along a row. Built once per ISA.
#include "kernels/cpu/resample_rows.h"

#include "kernels/cpu/loop_pieces.h"
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

/// Of doubles the compiler makes the vectors.
template <int Sums>
static void sum_some(const double* const* rows, const double* weights, double* to, long count, bool adds) {
  TENON_NO_OVERLAP
  for (long i = 0; i < count; i++) {
    double sum = adds ? to[i] : 0;
    TENON_UNROLL
    for (int r = 0; r < Sums; r++) sum += weights[r] * rows[r][i];
    to[i] = sum;
  }
}

template <int Taps, class T>
static void along_few(const AlongRow<T>& a, const T* __restrict row, T* __restrict to) {
  for (long x = 0; x < a.out; x++) {
    T sum = 0;
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
template <class T>
static void along_pixels(const AlongRow<T>& a, const T* row, T* to, long x = 0) {
  for (; x < a.out; x++) {
    T sum = 0;
    for (long t = 0; t < a.taps; t++) sum += a.weights[t * a.out + x] * row[a.places[t * a.out + x]];
    to[x] = sum;
  }
}
static void along_pixels(const AlongRow<float>& a, const float* row, float* to) {
  long x = 0;
  for (; x + VL <= a.out; x += VL) {
    vf sum{};
    for (long t = 0; t < a.taps; t++)
      sum += load(a.weights + t * a.out + x) * at_places(row, load(a.places + t * a.out + x));
    store(to + x, sum);
  }
  along_pixels<float>(a, row, to, x);
}

template <class T>
static void sum_rows(const T* const* rows, const T* weights, long sums, T* to, long count) {
  long r = 0;
  for (; r + 4 <= sums; r += 4) sum_some<4>(rows + r, weights + r, to, count, r > 0);
  for (; r + 2 <= sums; r += 2) sum_some<2>(rows + r, weights + r, to, count, r > 0);
  if (r < sums) sum_some<1>(rows + r, weights + r, to, count, r > 0);
}

template <class T>
static void resample_row(const AlongRow<T>& a, const T* row, T* to) {
  if (a.in_pixel == 1 && a.out_pixel == 1) {
    if (a.taps == 2) return along_few<2>(a, row, to);
    if (a.taps == 4) return along_few<4>(a, row, to);
    return along_pixels(a, row, to);
  }
  for (long x = 0; x < a.out; x++) {
    const T* rows[8];
    T weights[8];
    for (long first = 0; first < a.taps; first += 4) {
      const long sums = a.taps - first < 4 ? a.taps - first : 4;
      for (long t = 0; t < sums; t++) {
        rows[t] = row + a.places[(first + t) * a.out + x] * a.in_pixel;
        weights[t] = a.weights[(first + t) * a.out + x];
      }
      T* const pixel = to + x * a.out_pixel;
      if (first > 0) {
        for (long t = 0; t < sums; t++) sum_some<1>(rows + t, weights + t, pixel, a.inner, true);
      } else {
        sum_rows(rows, weights, sums, pixel, a.inner);
      }
    }
  }
}

}  // namespace

void sum_rows_f32(const float* const* rows, const float* weights, long sums, float* to, long count) {
  sum_rows(rows, weights, sums, to, count);
}
void sum_rows_f64(const double* const* rows, const double* weights, long sums, double* to, long count) {
  sum_rows(rows, weights, sums, to, count);
}
void resample_row_f32(const AlongRow<float>& axis, const float* row, float* to) {
  resample_row(axis, row, to);
}
void resample_row_f64(const AlongRow<double>& axis, const double* row, double* to) {
  resample_row(axis, row, to);
}

}  // namespace tenon::cpu::TENON_ISA
