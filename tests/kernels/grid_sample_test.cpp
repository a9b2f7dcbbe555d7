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

template <class T>
double inside(const GridSample<T>& s, double grid, long size) {
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

/// Keys' weight of a pixel so far away.
double cubic_weight(double distance) {
  const double a = -0.75, d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

template <class T>
double expected(const GridSample<T>& s, long image, long point, long channel) {
  const auto at = static_cast<std::size_t>(2 * (image * s.points + point));
  const bool is_cubic = s.mode == GridMode::cubic;  // then each pixel is brought inside
  const auto place = [&](double grid, long size) {
    if (!is_cubic) return inside(s, grid, size);
    GridSample<T> as_it_is = s;
    as_it_is.outside = GridOutside::zeros;
    return inside(as_it_is, grid, size);
  };
  const double x = place(s.grid[at], s.width), y = place(s.grid[at + 1], s.height);
  const auto pixel = [&](double row, double column) -> double {
    if (row < 0 || column < 0 || row > static_cast<double>(s.height - 1) ||
        column > static_cast<double>(s.width - 1))
      return 0;
    const long number = (image * s.height + static_cast<long>(row)) * s.width + static_cast<long>(column);
    return s.x[number * s.channels + channel];
  };
  if (s.mode == GridMode::nearest) return pixel(std::nearbyint(y), std::nearbyint(x));
  double sum = 0;
  if (is_cubic) {
    const auto centre = [](double number, long size, bool corners) {  // its place in the grid
      const auto n = static_cast<double>(size);
      return corners ? 2 * number / (n - 1) - 1 : (2 * number + 1) / n - 1;
    };
    const auto moved = [&](double number, long size) {
      if (size == 1) return s.outside == GridOutside::zeros ? number : 0.0;
      return std::nearbyint(inside(s, centre(number, size, s.align_corners), size));
    };
    for (int i = -1; i < 3; ++i)
      for (int j = -1; j < 3; ++j) {
        const double row = std::floor(y) + i, column = std::floor(x) + j;
        sum += cubic_weight(y - row) * cubic_weight(x - column) *
               pixel(moved(row, s.height), moved(column, s.width));
      }
    return sum;
  }
  for (const double row : {std::floor(y), std::floor(y) + 1})
    for (const double column : {std::floor(x), std::floor(x) + 1})
      sum += (1 - std::fabs(y - row)) * (1 - std::fabs(x - column)) * pixel(row, column);
  return sum;
}

template <class T>
void check(GridSample<T> s) {
  std::mt19937 generator(1);
  const auto numbers = [&](long count) {
    std::vector<T> v(static_cast<std::size_t>(count));
    for (T& number : v) number = static_cast<T>(generator() % 97) / 32 - T(1.5) + T(0.003);
    return v;
  };
  const std::vector<T> x = numbers(s.images * s.height * s.width * s.channels);
  const std::vector<T> grid = numbers(s.images * s.points * 2);
  std::vector<T> y(static_cast<std::size_t>(s.images * s.points * s.channels + 1), T(5));
  s.x = x.data(), s.grid = grid.data(), s.y = y.data();
  static ThreadPool pool(2);
  std::vector<std::byte> scratch(grid_sample_scratch_size(s, 2) + 64);
  void* aligned = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, grid_sample_scratch_size(s, 2), aligned, space);
  grid_sample(s, static_cast<std::byte*>(aligned), pool);
  ASSERT_EQ(y.back(), T(5)) << "written behind the result";
  for (long image = 0; image < s.images; ++image)
    for (long point = 0; point < s.points; ++point)
      for (long channel = 0; channel < s.channels; ++channel) {
        const long at = s.y_channels_first ? (image * s.channels + channel) * s.points + point
                                           : (image * s.points + point) * s.channels + channel;
        ASSERT_NEAR(y[static_cast<std::size_t>(at)], expected(s, image, point, channel), 1e-4)
            << image << ' ' << point << ' ' << channel;
      }
}

template <class T>
void check_every_mode() {
  for (const long channels : {1, 3, 15, 16, 17, 40})
    for (const auto& [height, width] : {std::array<long, 2>{1, 1}, {5, 7}, {1, 33}, {12, 2}})
      for (const GridOutside outside : {GridOutside::zeros, GridOutside::border, GridOutside::reflection})
        for (const GridMode mode : {GridMode::linear, GridMode::nearest, GridMode::cubic})
          for (const bool flag : {false, true})
            check<T>({.images = 2,
                      .channels = channels,
                      .height = height,
                      .width = width,
                      .points = 83,
                      .mode = mode,
                      .align_corners = flag,
                      .y_channels_first = flag == (mode == GridMode::nearest),
                      .outside = outside});
}

TEST_P(SampledImages, EveryModeOfAnyNumberOfChannels) { check_every_mode<float>(); }
TEST_P(SampledImages, EveryModeOfDoubles) { check_every_mode<double>(); }

}  // namespace
}  // namespace tenon::cpu
