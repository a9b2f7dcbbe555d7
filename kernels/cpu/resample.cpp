// Resized images: of each row of the result the rows that it is made of are summed, then its pixels.
#include "kernels/cpu/resample.h"

#include <algorithm>

#include "kernels/cpu/resample_rows.h"

namespace tenon::cpu {
namespace {

constexpr long alignment = 16;  // floats

long row_size(const Resample& r) {
  return (r.axes.back().in * r.inner + alignment - 1) / alignment * alignment;
}

/// The rows of one image that a row of the result is made of.
long sums_of(const Resample& r) {
  long sums = 1;
  for (std::size_t d = 0; d + 1 < r.axes.size(); ++d) sums *= r.axes[d].taps;
  return sums;
}

std::size_t thread_bytes(const Resample& r) {
  return static_cast<std::size_t>(row_size(r)) * sizeof(float) +
         static_cast<std::size_t>(sums_of(r)) * (sizeof(float*) + sizeof(float)) + 64;
}

}  // namespace

std::size_t resample_scratch_size(const Resample& r, int threads) {
  return (thread_bytes(r) + 63) / 64 * 64 * static_cast<std::size_t>(threads);
}

void resample(const Resample& r, const float* x, float* y, std::byte* scratch, ThreadPool& pool) {
  const ResampleAxis& last = r.axes.back();
  const std::size_t outer = r.axes.size() - 1;
  const long width_in = last.in * r.inner, width_out = last.out * r.inner, sums = sums_of(r);
  long rows_in = 1, rows_out = 1;
  for (std::size_t d = 0; d < outer; ++d) rows_in *= r.axes[d].in, rows_out *= r.axes[d].out;
  const AlongRow along{last.out, last.taps, r.inner, last.places.data(), last.weights.data()};
  constexpr long numbers_of_chunk = 1 << 14;
  const long rows = r.images * rows_out, per_chunk = std::max(1L, numbers_of_chunk / std::max(1L, width_out));
  pool.parallel_for((rows + per_chunk - 1) / per_chunk, [&](long chunk, int thread) {
    std::byte* const own = scratch + (thread_bytes(r) + 63) / 64 * 64 * static_cast<std::size_t>(thread);
    auto* const sum = reinterpret_cast<float*>(own);
    auto* const from = reinterpret_cast<const float**>(sum + row_size(r));
    auto* const weights = reinterpret_cast<float*>(from + sums);
    for (long row = chunk * per_chunk; row < std::min(rows, (chunk + 1) * per_chunk); ++row) {
      const float* const image = x + row / rows_out * rows_in * width_in;
      for (long s = 0; s < sums; ++s) {
        long place = 0, extent = 1, rest = row % rows_out, tap = s;
        float weight = 1;
        for (std::size_t d = outer; d-- > 0;) {
          const ResampleAxis& a = r.axes[d];
          const auto at = static_cast<std::size_t>(tap % a.taps * a.out + rest % a.out);
          place += a.places[at] * extent;
          weight *= a.weights[at];
          extent *= a.in;
          tap /= a.taps;
          rest /= a.out;
        }
        from[s] = image + place * width_in;
        weights[s] = weight;
      }
      if (outer > 0) sum_rows(from, weights, sums, sum, width_in);
      resample_row(along, outer > 0 ? sum : image, y + row * width_out);
    }
  });
}

}  // namespace tenon::cpu
