// Sampled images in blocks of points: with channels last, then turned where the result has them first.
#include "kernels/cpu/grid_sample.h"

#include <algorithm>

#include "kernels/cpu/grid_points.h"
#include "kernels/cpu/transpose.h"

namespace tenon::cpu {
namespace {

constexpr long block = 64;  // points

/// A thread's: a pixel of zeros, and a block of the result before it is turned.
std::size_t thread_floats(const GridSample& s) {
  return static_cast<std::size_t>((s.channels + 15) / 16 * 16 * (1 + (s.y_channels_first ? block : 0)));
}

}  // namespace

std::size_t grid_sample_scratch_size(const GridSample& s, int threads) {
  return thread_floats(s) * sizeof(float) * static_cast<std::size_t>(threads);
}

void grid_sample(const GridSample& s, std::byte* scratch, ThreadPool& pool) {
  const long blocks = (s.points + block - 1) / block;
  pool.parallel_for(s.images * blocks, [&](long chunk, int thread) {
    const long image = chunk / blocks, first = chunk % blocks * block;
    auto* const zeros =
        reinterpret_cast<float*>(scratch) + thread_floats(s) * static_cast<std::size_t>(thread);
    float* const turned = zeros + (s.channels + 15) / 16 * 16;
    std::fill_n(zeros, s.channels, 0.0F);
    float* const y = s.y + image * s.points * s.channels;
    const GridPoints points{.sample = &s,
                            .image = s.x + image * s.height * s.width * s.channels,
                            .zeros = zeros,
                            .places = s.grid + (image * s.points + first) * 2,
                            .y = s.y_channels_first ? turned : y + first * s.channels,
                            .count = std::min(block, s.points - first)};
    sample_grid_points(points);
    if (s.y_channels_first)
      transpose_on_this_thread(points.count, s.channels, turned, s.channels, y + first, s.points);
  });
}

}  // namespace tenon::cpu
