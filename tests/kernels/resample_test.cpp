// Resized images are the sums of their taps, along one to three axes, channels first and last.
#include "kernels/cpu/resample.h"

#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class ResampledImages : public OnEveryIsa {};
TENON_EVERY_ISA(ResampledImages);

ResampleAxis random_axis(long in, long out, long taps, std::mt19937& generator) {
  ResampleAxis axis{.in = in, .out = out, .taps = taps};
  for (long i = 0; i < out * taps; ++i) {
    axis.places.push_back(static_cast<std::int32_t>(generator() % static_cast<unsigned>(in)));
    axis.weights.push_back(static_cast<float>(generator() % 17) / 8 - 1);
  }
  return axis;
}

void check(Resample r, std::mt19937& generator) {
  long in = r.images * r.inner, out = in;
  for (const ResampleAxis& a : r.axes) in *= a.in, out *= a.out;
  std::vector<float> x(static_cast<std::size_t>(in)), y(static_cast<std::size_t>(out + 1), 5.0F);
  for (float& v : x) v = static_cast<float>(generator() % 64);
  static ThreadPool pool(2);
  std::vector<std::byte> scratch(resample_scratch_size(r, 2) + 64);
  void* at = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, resample_scratch_size(r, 2), at, space);
  resample(r, x.data(), y.data(), static_cast<std::byte*>(at), pool);
  ASSERT_EQ(y.back(), 5.0F) << "written behind the result";
  for (long i = 0; i < out; ++i) {
    long sums = 1;
    for (const ResampleAxis& a : r.axes) sums *= a.taps;
    double want = 0;
    for (long s = 0; s < sums; ++s) {
      long rest = i / r.inner, tap = s, place = 0, extent = 1;
      double weight = 1;
      for (std::size_t d = r.axes.size(); d-- > 0;) {
        const ResampleAxis& a = r.axes[d];
        const auto entry = static_cast<std::size_t>(tap % a.taps * a.out + rest % a.out);
        place += a.places[entry] * extent;
        weight *= a.weights[entry];
        extent *= a.in;
        tap /= a.taps;
        rest /= a.out;
      }
      want += weight * x[static_cast<std::size_t>((rest * extent + place) * r.inner + i % r.inner)];
    }
    ASSERT_NEAR(y[static_cast<std::size_t>(i)], want, 1e-3) << i;
  }
}

TEST_P(ResampledImages, EveryNumberOfAxesAndTaps) {
  std::mt19937 generator(1);
  for (const long inner : {1, 3, 16, 35})
    for (const long taps : {1, 2, 3, 4, 9}) {
      check({.images = 2, .inner = inner, .axes = {random_axis(7, 19, taps, generator)}}, generator);
      check({.images = 2,
             .inner = inner,
             .axes = {random_axis(3, 5, taps, generator), random_axis(37, 18, taps, generator)}},
            generator);
    }
  check({.images = 3,
         .inner = 2,
         .axes = {random_axis(2, 3, 2, generator), random_axis(4, 1, 2, generator),
                  random_axis(1, 6, 2, generator)}},
        generator);
}

}  // namespace
}  // namespace tenon::cpu
