// Resized images are the sums of their taps, along one to three axes, channels first and last, with and
// without gaps between pixels and rows.
#include "kernels/cpu/resample.h"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class ResampledImages : public OnEveryIsa {};
TENON_EVERY_ISA(ResampledImages);

template <class T>
ResampleAxis<T> random_axis(long in, long out, long taps, std::mt19937& generator) {
  ResampleAxis<T> axis{.in = in, .out = out, .taps = taps};
  for (long i = 0; i < out * taps; ++i) {
    axis.places.push_back(static_cast<std::int32_t>(generator() % static_cast<unsigned>(in)));
    axis.weights.push_back(static_cast<T>(generator() % 17) / 8 - 1);
  }
  return axis;
}

/// The place of the i-th number of images whose rows have so many pixels.
std::size_t place_of(long i, long inner, long pixels, const PixelStrides& strides) {
  const long pixel = i / inner;
  return static_cast<std::size_t>(pixel / pixels * strides.row + pixel % pixels * strides.pixel + i % inner);
}

/// Gaps between pixels, and between rows.
struct Gaps {
  long pixels, rows;
};

template <class T>
void check(Resample<T> r, const Gaps& gaps, std::mt19937& generator) {
  long in = r.images * r.inner, out = in;
  for (const ResampleAxis<T>& a : r.axes) in *= a.in, out *= a.out;
  const long in_width = r.axes.back().in, out_width = r.axes.back().out;
  const long in_pixel = r.inner + gaps.pixels, out_pixel = r.inner + 2 * gaps.pixels;
  r.in = {in_pixel, in_pixel * in_width + gaps.rows};
  r.out = {out_pixel, out_pixel * out_width + gaps.rows};
  std::vector<T> x(place_of(in - 1, r.inner, in_width, r.in) + 1);
  std::vector<T> y(place_of(out - 1, r.inner, out_width, r.out) + 2, T(5));
  for (T& v : x) v = static_cast<T>(generator() % 64);
  static ThreadPool pool(2);
  std::vector<std::byte> scratch(resample_scratch_size(r, 2) + 64);
  void* at = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, resample_scratch_size(r, 2), at, space);
  resample(r, x.data(), y.data(), static_cast<std::byte*>(at), pool);
  ASSERT_EQ(y.back(), T(5)) << "written behind the result";
  for (long i = 0; i < out; ++i) {
    long sums = 1;
    for (const ResampleAxis<T>& a : r.axes) sums *= a.taps;
    double want = 0;
    for (long s = 0; s < sums; ++s) {
      long rest = i / r.inner, tap = s, place = 0, extent = 1;
      double weight = 1;
      for (std::size_t d = r.axes.size(); d-- > 0;) {
        const ResampleAxis<T>& a = r.axes[d];
        const auto entry = static_cast<std::size_t>(tap % a.taps * a.out + rest % a.out);
        place += a.places[entry] * extent;
        weight *= a.weights[entry];
        extent *= a.in;
        tap /= a.taps;
        rest /= a.out;
      }
      want += weight * x[place_of((rest * extent + place) * r.inner + i % r.inner, r.inner, in_width, r.in)];
    }
    T& got = y[place_of(i, r.inner, out_width, r.out)];
    ASSERT_NEAR(got, want, sizeof(T) == 8 ? 1e-11 : 1e-3) << i;
    got = T(5);
  }
  ASSERT_EQ(std::count(y.begin(), y.end(), T(5)), y.size()) << "written beside the result";
}

template <class T>
void check(const Resample<T>& r, std::mt19937& generator) {
  for (const Gaps& gaps : {Gaps{0, 0}, Gaps{3, 3}, Gaps{0, 5}}) check(r, gaps, generator);
}

template <class T>
void check_every_number_of_axes_and_taps() {
  std::mt19937 generator(1);
  for (const long inner : {1, 3, 16, 35})
    for (const long taps : {1, 2, 3, 4, 9}) {
      check<T>({.images = 2, .inner = inner, .axes = {random_axis<T>(7, 19, taps, generator)}}, generator);
      check<T>({.images = 2,
                .inner = inner,
                .axes = {random_axis<T>(3, 5, taps, generator), random_axis<T>(37, 18, taps, generator)}},
               generator);
    }
  check<T>({.images = 3,
            .inner = 1,
            .axes = {random_axis<T>(2, 3, 2, generator), random_axis<T>(4, 9, 3, generator),
                     random_axis<T>(6, 5, 2, generator)}},
           generator);
  check<T>({.images = 3,
            .inner = 2,
            .axes = {random_axis<T>(2, 3, 2, generator), random_axis<T>(4, 1, 2, generator),
                     random_axis<T>(1, 6, 2, generator)}},
           generator);
}

TEST_P(ResampledImages, EveryNumberOfAxesAndTaps) { check_every_number_of_axes_and_taps<float>(); }
TEST_P(ResampledImages, OfDoubles) { check_every_number_of_axes_and_taps<double>(); }

}  // namespace
}  // namespace tenon::cpu
