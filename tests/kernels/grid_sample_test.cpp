// Sampled images are the weighed pixels around each point, of any number of channels, first and last.
#include "kernels/cpu/grid_sample.h"

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class SampledImages : public OnEveryIsa {};
TENON_EVERY_ISA(SampledImages);

double inside(const GridSample& s, double grid, long size) {
  const auto last = static_cast<double>(size - 1);
  double place = s.align_corners ? (grid + 1) / 2 * last : ((grid + 1) * static_cast<double>(size) - 1) / 2;
  if (s.outside == GridOutside::zeros) return place;
  if (s.outside == GridOutside::reflection) {
    const double low = s.align_corners ? 0 : -0.5, high = s.align_corners ? last : last + 0.5;
    if (low == high) return 0;
    while (place < low || place > high) place = place < low ? 2 * low - place : 2 * high - place;
  }
  return std::min(std::max(place, 0.0), last);
}

double expected(const GridSample& s, long image, long point, long channel) {
  const auto at = static_cast<std::size_t>(2 * (image * s.points + point));
  const double x = inside(s, s.grid[at], s.width), y = inside(s, s.grid[at + 1], s.height);
  const auto pixel = [&](double row, double column) -> double {
    if (row < 0 || column < 0 || row > static_cast<double>(s.height - 1) ||
        column > static_cast<double>(s.width - 1))
      return 0;
    const long number = (image * s.height + static_cast<long>(row)) * s.width + static_cast<long>(column);
    return s.x[number * s.channels + channel];
  };
  if (s.nearest) return pixel(std::nearbyint(y), std::nearbyint(x));
  double sum = 0;
  for (const double row : {std::floor(y), std::floor(y) + 1})
    for (const double column : {std::floor(x), std::floor(x) + 1})
      sum += (1 - std::fabs(y - row)) * (1 - std::fabs(x - column)) * pixel(row, column);
  return sum;
}

void check(GridSample s) {
  std::mt19937 generator(1);
  const auto numbers = [&](long count) {
    std::vector<float> v(static_cast<std::size_t>(count));
    for (float& number : v) number = static_cast<float>(generator() % 97) / 32 - 1.5F + 0.003F;
    return v;
  };
  const std::vector<float> x = numbers(s.images * s.height * s.width * s.channels);
  const std::vector<float> grid = numbers(s.images * s.points * 2);
  std::vector<float> y(static_cast<std::size_t>(s.images * s.points * s.channels + 1), 5.0F);
  s.x = x.data(), s.grid = grid.data(), s.y = y.data();
  static ThreadPool pool(2);
  std::vector<std::byte> scratch(grid_sample_scratch_size(s, 2) + 64);
  void* aligned = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, grid_sample_scratch_size(s, 2), aligned, space);
  grid_sample(s, static_cast<std::byte*>(aligned), pool);
  ASSERT_EQ(y.back(), 5.0F) << "written behind the result";
  for (long image = 0; image < s.images; ++image)
    for (long point = 0; point < s.points; ++point)
      for (long channel = 0; channel < s.channels; ++channel) {
        const long at = s.y_channels_first ? (image * s.channels + channel) * s.points + point
                                           : (image * s.points + point) * s.channels + channel;
        ASSERT_NEAR(y[static_cast<std::size_t>(at)], expected(s, image, point, channel), 1e-4)
            << image << ' ' << point << ' ' << channel;
      }
}

TEST_P(SampledImages, EveryModeOfAnyNumberOfChannels) {
  for (const long channels : {1, 3, 15, 16, 17, 40})
    for (const auto& [height, width] : {std::array<long, 2>{1, 1}, {5, 7}, {1, 33}, {12, 2}})
      for (const GridOutside outside : {GridOutside::zeros, GridOutside::border, GridOutside::reflection})
        for (const bool nearest : {false, true})
          for (const bool flag : {false, true})
            check({.images = 2,
                   .channels = channels,
                   .height = height,
                   .width = width,
                   .points = 83,
                   .nearest = nearest,
                   .align_corners = flag,
                   .y_channels_first = flag == nearest,
                   .outside = outside});
}

}  // namespace
}  // namespace tenon::cpu
