// Sampled images in blocks of points: with channels last, then turned where the result has them first.
#include "kernels/cpu/grid_sample.h"

#include <algorithm>

#include "kernels/cpu/grid_points.h"
#include "kernels/cpu/transpose.h"

namespace tenon::cpu {
namespace {

constexpr long block = 64;  // points

/// A thread's: a pixel of zeros, and a block of the result before it is turned.
template <class T>
std::size_t thread_elements(const GridSample<T>& s) {
  return static_cast<std::size_t>((s.channels + 15) / 16 * 16 * (1 + (s.y_channels_first ? block : 0)));
}

void sample_points(const GridPoints<float>& points) { sample_grid_points_f32(points); }
void sample_points(const GridPoints<double>& points) { sample_grid_points_f64(points); }

}  // namespace

template <class T>
std::size_t grid_sample_scratch_size(const GridSample<T>& s, int threads) {
  return thread_elements(s) * sizeof(T) * static_cast<std::size_t>(threads);
}

template <class T>
void grid_sample(const GridSample<T>& s, std::byte* scratch, ThreadPool& pool) {
  const long blocks = (s.points + block - 1) / block;
  pool.parallel_for(s.images * blocks, [&](long chunk, int thread) {
    const long image = chunk / blocks, first = chunk % blocks * block;
    T* const zeros = reinterpret_cast<T*>(scratch) + thread_elements(s) * static_cast<std::size_t>(thread);
    T* const turned = zeros + (s.channels + 15) / 16 * 16;
    std::fill_n(zeros, s.channels, T{});
    T* const y = s.y + image * s.points * s.channels;
    const GridPoints<T> points{.sample = &s,
                               .image = s.x + image * s.height * s.width * s.channels,
                               .zeros = zeros,
                               .places = s.grid + (image * s.points + first) * 2,
                               .y = s.y_channels_first ? turned : y + first * s.channels,
                               .count = std::min(block, s.points - first)};
    sample_points(points);
    if (s.y_channels_first)
      transpose_on_this_thread(points.count, s.channels, turned, s.channels, y + first, s.points);
  });
}

#define TENON_GRID_SAMPLE(T)                                                \
  template std::size_t grid_sample_scratch_size(const GridSample<T>&, int); \
  template void grid_sample(const GridSample<T>&, std::byte*, ThreadPool&);
TENON_GRID_SAMPLE(float)
TENON_GRID_SAMPLE(double)
#undef TENON_GRID_SAMPLE

}  // namespace tenon::cpu
