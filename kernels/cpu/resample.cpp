// Resized images: of each row of the result the rows that it is made of are summed, then its pixels.
#include "kernels/cpu/resample.h"

#include <algorithm>

#include "kernels/cpu/resample_rows.h"

namespace tenon::cpu {
namespace {

template <class... Arguments>
void sum_rows(const float* const* rows, Arguments... arguments) {
  sum_rows_f32(rows, arguments...);
}
template <class... Arguments>
void sum_rows(const double* const* rows, Arguments... arguments) {
  sum_rows_f64(rows, arguments...);
}
void resample_row(const AlongRow<float>& axis, const float* row, float* to) {
  resample_row_f32(axis, row, to);
}
void resample_row(const AlongRow<double>& axis, const double* row, double* to) {
  resample_row_f64(axis, row, to);
}

constexpr long alignment = 16;  // numbers

// Numbers of a row, and of gaps between its pixels.
template <class T>
long width_in(const Resample<T>& r) {
  return (r.axes.back().in - 1) * r.in.pixel + r.inner;
}

template <class T>
long row_size(const Resample<T>& r) {
  return (width_in(r) + alignment - 1) / alignment * alignment;
}

/// The rows of one image that a row of the result is made of.
template <class T>
long sums_of(const Resample<T>& r) {
  long sums = 1;
  for (std::size_t d = 0; d + 1 < r.axes.size(); ++d) sums *= r.axes[d].taps;
  return sums;
}

template <class T>
std::size_t thread_bytes(const Resample<T>& r) {
  return static_cast<std::size_t>(row_size(r)) * sizeof(T) +
         static_cast<std::size_t>(sums_of(r)) * (sizeof(T*) + sizeof(T)) + 64;
}

}  // namespace

template <class T>
std::size_t resample_scratch_size(const Resample<T>& r, int threads) {
  return (thread_bytes(r) + 63) / 64 * 64 * static_cast<std::size_t>(threads);
}

template <class T>
void resample(const Resample<T>& r, const T* x, T* y, std::byte* scratch, ThreadPool& pool) {
  const ResampleAxis<T>& last = r.axes.back();
  const std::size_t outer = r.axes.size() - 1;
  const long numbers_of_row = last.out * r.inner, sums = sums_of(r);
  long rows_in = 1, rows_out = 1;
  for (std::size_t d = 0; d < outer; ++d) rows_in *= r.axes[d].in, rows_out *= r.axes[d].out;
  const AlongRow<T> along{.out = last.out,
                          .taps = last.taps,
                          .inner = r.inner,
                          .in_pixel = r.in.pixel,
                          .out_pixel = r.out.pixel,
                          .places = last.places.data(),
                          .weights = last.weights.data()};
  constexpr long numbers_of_chunk = 1 << 14;
  const long rows = r.images * rows_out,
             per_chunk = std::max(1L, numbers_of_chunk / std::max(1L, numbers_of_row));
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int thread) {
    std::byte* const own = scratch + (thread_bytes(r) + 63) / 64 * 64 * static_cast<std::size_t>(thread);
    auto* const sum = reinterpret_cast<T*>(own);
    auto* const from = reinterpret_cast<const T**>(sum + row_size(r));
    auto* const weights = reinterpret_cast<T*>(from + sums);
    for (long row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
      const T* const image = x + row / rows_out * rows_in * r.in.row;
      for (long s = 0; s < sums; ++s) {
        long place = 0, extent = 1, rest = row % rows_out, tap = s;
        T weight = 1;
        for (std::size_t d = outer; d-- > 0;) {
          const ResampleAxis<T>& a = r.axes[d];
          const auto at = static_cast<std::size_t>(tap % a.taps * a.out + rest % a.out);
          place += a.places[at] * extent;
          weight *= a.weights[at];
          extent *= a.in;
          tap /= a.taps;
          rest /= a.out;
        }
        from[s] = image + place * r.in.row;
        weights[s] = weight;
      }
      if (outer > 0) sum_rows(from, weights, sums, sum, width_in(r));
      resample_row(along, outer > 0 ? sum : image, y + row * r.out.row);
    }
  });
}

#define TENON_RESAMPLE(T)                                              \
  template std::size_t resample_scratch_size(const Resample<T>&, int); \
  template void resample(const Resample<T>&, const T*, T*, std::byte*, ThreadPool&);
TENON_RESAMPLE(float)
TENON_RESAMPLE(double)
#undef TENON_RESAMPLE

}  // namespace tenon::cpu
