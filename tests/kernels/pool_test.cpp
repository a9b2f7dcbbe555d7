// Pooling of any window equals a plain loop that follows PyTorch's rules.
#include "kernels/cpu/pool.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/half.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/numbers.h"

namespace tenon::cpu {
namespace {

class Pool : public OnEveryIsa {
 protected:
  // A random image, and the result of `run_kernel`, compared with expected(n, c, z, y, x) for every output
  // element: in float32 and float64, with pixels that lie apart and one behind the other.
  template <class Kernel, class Expected>
  void compare(const PoolShape& s, long out_d, long out_h, long out_w, Kernel run_kernel, Expected expected) {
    for (const int threads : {1, 2})
      for (const long gap : {0, 2}) {
        ThreadPool pool(threads);
        in_stride_ = s.C + gap;
        in_ = random_numbers(s.N * s.in_pixels() * in_stride_, 1);
        const long out_stride = s.C + 2 * gap, size = s.N * out_d * out_h * out_w * out_stride;
        const auto matches = [&](long i, double actual, double tolerance) {
          const long c = i % out_stride;
          const long x = i / out_stride % out_w;
          const long y = i / out_stride / out_w % out_h;
          const long z = i / out_stride / out_w / out_h % out_d;
          const long n = i / out_stride / out_w / out_h / out_d;
          const double wanted = c < s.C ? expected(n, c, z, y, x) : double{untouched};
          ASSERT_NEAR(actual, wanted, tolerance)
              << "n " << n << " c " << c << " at " << z << "," << y << "," << x;
        };
        Numbers out(size, untouched);
        run_kernel(PoolRun{in_.data(), in_stride_, out.data(), out_stride}, pool);
        for (long i = 0; i < size; i++) matches(i, double{out[i]}, 1e-6);
        const std::vector<double> in(in_.data(), in_.data() + in_.size());
        std::vector<double> doubles(static_cast<std::size_t>(size), double{untouched});
        run_kernel(PoolRun{in.data(), in_stride_, doubles.data(), out_stride, DType::f64}, pool);
        for (long i = 0; i < size; i++) matches(i, doubles[static_cast<std::size_t>(i)], 1e-14);
      }
  }
  double at(const PoolShape& s, long n, long c, long z, long y, long x) const {
    return double{in_[(((n * s.d.in + z) * s.h.in + y) * s.w.in + x) * in_stride_ + c]};
  }

 private:
  Numbers in_;
  long in_stride_ = 0;
};
TENON_EVERY_ISA(Pool);

struct Tap {
  bool inside;
  bool padded;  // inside the padded image
  long at;
};
Tap tap(const PoolAxis& a, long o, long k) {
  const long i = o * a.stride - a.pad + k * a.dilation;
  return {i >= 0 && i < a.in, i < a.in + a.pad, i};
}

// The shapes of both kinds of pooling.
std::vector<PoolShape> shapes() {
  std::vector<PoolShape> all;
  for (const long channels : {1, 5, 16, 67}) {
    all.push_back(
        {.C = channels, .h = {.in = 8, .kernel = 2, .stride = 2}, .w = {.in = 8, .kernel = 2, .stride = 2}});
    all.push_back({.N = 2,
                   .C = channels,
                   .h = {.in = 9, .kernel = 3, .stride = 2, .pad = 1},
                   .w = {.in = 12, .kernel = 3, .stride = 2, .pad = 1}});
    all.push_back({.C = channels,
                   .h = {.in = 8, .kernel = 3, .stride = 2, .pad = 1, .ceil_mode = true},
                   .w = {.in = 7, .kernel = 2, .stride = 3, .ceil_mode = true}});
    all.push_back({.C = channels, .w = {.in = 11, .kernel = 4, .stride = 3, .pad = 2, .ceil_mode = true}});
    all.push_back({.N = 2,
                   .C = channels,
                   .h = {.in = 5, .kernel = 2, .stride = 1},
                   .w = {.in = 4, .kernel = 3, .stride = 1, .pad = 1},
                   .d = {.in = 6, .kernel = 2, .stride = 2}});
    all.push_back({.N = 2,
                   .C = channels,
                   .h = {.in = 3},
                   .w = {.in = 4},
                   .d = {.in = 6, .kernel = 3, .stride = 1, .pad = 1}});
    all.push_back({.C = channels, .h = {.in = 7, .kernel = 3, .stride = 2, .pad = 1}, .w = {.in = 5}});
    // Windows that hold the whole image, and padding of other sizes.
    all.push_back({.C = channels,
                   .h = {.in = 2, .kernel = 5, .stride = 1, .pad = 2},
                   .w = {.in = 1, .kernel = 4, .stride = 2, .pad = 2, .ceil_mode = true}});
  }
  return all;
}

// In bfloat16 the result is that of floats, rounded.
TEST_P(Pool, OfHalves) {
  using Kernel = std::function<void(const PoolShape&, const PoolRun&, ThreadPool&)>;
  for (const PoolShape& s : shapes())
    for (const Kernel& kernel : {Kernel([](const PoolShape&shape, const PoolRun&run, ThreadPool&pool) {
                                   max_pool(shape, run, pool);
                                 }),
                                 Kernel([](const PoolShape&shape, const PoolRun&run, ThreadPool&pool) {
                                   avg_pool(shape, {}, run, pool);
                                 })}) {
      ThreadPool pool(2);
      const long in_stride = s.C + 2, out_stride = s.C + 3;
      const long pixels = s.N * s.d.out() * s.h.out() * s.w.out();
      const Numbers in = coarse_numbers(s.N * s.in_pixels() * in_stride, 1);
      std::vector<std::uint16_t> halves;
      for (long i = 0; i < in.size(); i++) halves.push_back(BFloat16(in[i]).bits);
      Numbers expected(pixels * out_stride, untouched);
      constexpr std::uint16_t untouched_half = 7;
      std::vector<std::uint16_t> out(static_cast<std::size_t>(pixels * out_stride), untouched_half);
      kernel(s, PoolRun{in.data(), in_stride, expected.data(), out_stride}, pool);
      kernel(s, PoolRun{halves.data(), in_stride, out.data(), out_stride, DType::bf16}, pool);
      for (long i = 0; i < pixels * out_stride; i++)
        ASSERT_EQ(out[static_cast<std::size_t>(i)],
                  i % out_stride < s.C ? BFloat16(expected[i]).bits : untouched_half);
    }
}

TEST_P(Pool, OfBytes) {
  for (const PoolShape& s : shapes())
    for (const DType type : {DType::u8, DType::i8}) {
      ThreadPool pool(2);
      const long in_stride = s.C + 2, out_stride = s.C + 3;
      const long pixels = s.N * s.d.out() * s.h.out() * s.w.out();
      const int least = type == DType::i8 ? -128 : 0;
      std::vector<std::uint8_t> bytes;
      std::vector<float> numbers;
      for (long i = 0; i < s.N * s.in_pixels() * in_stride; i++) {
        const int number = least + static_cast<int>(i * 157 % 256);
        numbers.push_back(static_cast<float>(number));
        bytes.push_back(static_cast<std::uint8_t>(number));
      }
      const auto size = static_cast<std::size_t>(pixels * out_stride);
      constexpr std::uint8_t untouched_byte = 7;
      std::vector<float> expected(size, untouched_byte);
      std::vector<std::uint8_t> out(size, untouched_byte);
      max_pool(s, PoolRun{numbers.data(), in_stride, expected.data(), out_stride}, pool);
      max_pool(s, PoolRun{bytes.data(), in_stride, out.data(), out_stride, type}, pool);
      for (std::size_t i = 0; i < size; i++)
        ASSERT_EQ(out[i], static_cast<std::uint8_t>(static_cast<int>(expected[i]))) << i;
    }
}

TEST_P(Pool, MaxTakesTheLargestInsideTheImage) {
  std::vector<PoolShape> all = shapes();
  all.push_back({.C = 9,
                 .h = {.in = 10, .kernel = 3, .stride = 1, .pad = 1, .dilation = 2},
                 .w = {.in = 10, .kernel = 2, .stride = 2, .dilation = 3}});
  for (const PoolShape& s : all) {
    compare(
        s, s.d.out(), s.h.out(), s.w.out(),
        [&](const PoolRun& run, ThreadPool& pool) { max_pool(s, run, pool); },
        [&](long n, long c, long z, long y, long x) {
          double best = -std::numeric_limits<double>::infinity();
          for (long i = 0; i < s.d.kernel; i++) {
            for (long j = 0; j < s.h.kernel; j++) {
              for (long k = 0; k < s.w.kernel; k++) {
                const Tap d = tap(s.d, z, i), h = tap(s.h, y, j), w = tap(s.w, x, k);
                if (d.inside && h.inside && w.inside) best = std::max(best, at(s, n, c, d.at, h.at, w.at));
              }
            }
          }
          return best;
        });
  }
}

// As those of pixels of one channel. A NaN is kept.
TEST_P(Pool, RowsOfMaxima) {
  const PoolAxis axes[] = {{.in = 81, .kernel = 3, .stride = 2, .pad = 1, .ceil_mode = true},
                           {.in = 5, .kernel = 3, .stride = 1, .pad = 1},
                           {.in = 40, .kernel = 2, .stride = 2},
                           {.in = 50, .kernel = 5, .stride = 3, .pad = 2, .dilation = 4},
                           {.in = 3, .kernel = 2, .stride = 1, .pad = 1, .dilation = 5},
                           {.in = 70, .kernel = 3, .stride = 1, .pad = 0, .pad_more = -4},
                           {.in = 2600, .kernel = 4, .stride = 4, .pad = 1}};
  for (const PoolAxis& axis : axes)
    for (const int threads : {1, 2}) {
      SCOPED_TRACE(testing::PrintToString(axis));
      ThreadPool pool(threads);
      const PoolShape s{.N = 3, .w = axis};
      Numbers in = random_numbers(s.N * axis.in, 1);
      in[axis.in + 2] = std::numeric_limits<float>::quiet_NaN();
      const long size = s.N * axis.out();
      Numbers expected(size, untouched), out(size, untouched);
      max_pool(s, {in.data(), 1, expected.data(), 1}, pool);
      max_pool_rows(axis, {in.data(), out.data(), s.N, DType::f32}, pool);
      const std::vector<double> doubles(in.data(), in.data() + in.size());
      std::vector<double> out_doubles(static_cast<std::size_t>(size), double{untouched});
      max_pool_rows(axis, {doubles.data(), out_doubles.data(), s.N, DType::f64}, pool);
      for (long i = 0; i < size; i++) {
        const double found = out_doubles[static_cast<std::size_t>(i)];
        ASSERT_TRUE(out[i] == expected[i] || (std::isnan(out[i]) && std::isnan(expected[i]))) << i;
        ASSERT_TRUE(found == double{expected[i]} || (std::isnan(found) && std::isnan(expected[i]))) << i;
      }
      EXPECT_TRUE(pools_rows(axis, DType::f64));
    }
}

TEST_P(Pool, AverageDividesAsPyTorchDoes) {
  for (const PoolShape& s : shapes()) {
    for (const AvgPoolOptions options :
         {AvgPoolOptions{true, 0}, AvgPoolOptions{false, 0}, AvgPoolOptions{true, 7}}) {
      compare(
          s, s.d.out(), s.h.out(), s.w.out(),
          [&](const PoolRun& run, ThreadPool& pool) { avg_pool(s, options, run, pool); },
          [&](long n, long c, long z, long y, long x) {
            double sum = 0;
            long inside = 0, padded = 0;
            for (long i = 0; i < s.d.kernel; i++) {
              for (long j = 0; j < s.h.kernel; j++) {
                for (long k = 0; k < s.w.kernel; k++) {
                  const Tap d = tap(s.d, z, i), h = tap(s.h, y, j), w = tap(s.w, x, k);
                  padded += d.padded && h.padded && w.padded;
                  if (!(d.inside && h.inside && w.inside)) continue;
                  inside++;
                  sum += at(s, n, c, d.at, h.at, w.at);
                }
              }
            }
            const long divisor = options.divisor_override != 0 ? options.divisor_override
                                 : options.count_include_pad   ? padded
                                                               : inside;
            return sum / static_cast<double>(divisor);
          });
    }
  }
}

TEST_P(Pool, AdaptiveWindowsDivideTheImage) {
  const PoolShape s{.N = 2, .C = 20, .h = {.in = 7}, .w = {.in = 10}, .d = {.in = 3}};
  for (const long out : {1L, 3L, 4L}) {
    const auto window = [](long in, long count, long o) {
      return std::pair{
          static_cast<long>(std::floor(static_cast<double>(o * in) / static_cast<double>(count))),
          static_cast<long>(std::ceil(static_cast<double>((o + 1) * in) / static_cast<double>(count)))};
    };
    const auto each = [&](long n, long c, long z, long y, long x, auto body) {
      const auto [z0, z1] = window(3, 2, z);
      const auto [y0, y1] = window(7, out, y);
      const auto [x0, x1] = window(10, out, x);
      for (long i = z0; i < z1; i++) {
        for (long j = y0; j < y1; j++) {
          for (long k = x0; k < x1; k++) body(at(s, n, c, i, j, k));
        }
      }
    };
    compare(
        s, 2, out, out,
        [&](const PoolRun& run, ThreadPool& pool) { adaptive_avg_pool(s, 2, out, out, run, pool); },
        [&](long n, long c, long z, long y, long x) {
          double sum = 0;
          long count = 0;
          each(n, c, z, y, x, [&](double v) { sum += v, count++; });
          return sum / static_cast<double>(count);
        });
    compare(
        s, 2, out, out,
        [&](const PoolRun& run, ThreadPool& pool) { adaptive_max_pool(s, 2, out, out, run, pool); },
        [&](long n, long c, long z, long y, long x) {
          double best = -2;
          each(n, c, z, y, x, [&](double v) { best = std::max(best, v); });
          return best;
        });
  }
}

TEST_P(Pool, MaxKeepsNaNWhereverItStands) {
  ThreadPool pool(1);
  for (long place = 0; place < 4; place++) {
    Numbers in(4 * 17, 1.0f);
    for (long c = 0; c < 17; c++) in[place * 17 + c] = std::numeric_limits<float>::quiet_NaN();
    Numbers out(17);
    max_pool({.C = 17, .h = {.in = 2, .kernel = 2}, .w = {.in = 2, .kernel = 2}},
             {in.data(), 17, out.data(), 17}, pool);
    for (long c = 0; c < 17; c++) EXPECT_TRUE(std::isnan(out[c]));
  }
}

// Of equal numbers the first has the place.
TEST_P(Pool, PlacesOfMaxima) {
  for (PoolShape s : shapes())
    for (const long dilation : {1, 2}) {
      s.w.dilation = dilation;
      if (s.w.in + 2 * s.w.pad + s.w.pad_more <= dilation * (s.w.kernel - 1)) continue;
      ThreadPool pool(2);
      const long pixels = s.N * s.d.out() * s.h.out() * s.w.out(), stride = s.C + 2;
      const Numbers in = coarse_numbers(s.N * s.in_pixels() * s.C, 1);
      const std::vector<double> doubles(in.data(), in.data() + in.size());
      Numbers out(pixels * s.C);
      std::vector<double> double_out(static_cast<std::size_t>(pixels * s.C));
      std::vector<std::int64_t> places(static_cast<std::size_t>(pixels * stride), 77), same = places;
      max_pool(s, {in.data(), s.C, out.data(), s.C, DType::f32, places.data(), stride}, pool);
      max_pool(s, {doubles.data(), s.C, double_out.data(), s.C, DType::f64, same.data(), stride}, pool);
      ASSERT_EQ(places, same);
      for (long i = 0; i < pixels * stride; i++) {
        const long c = i % stride, x = i / stride % s.w.out(), y = i / stride / s.w.out() % s.h.out(),
                   z = i / stride / s.w.out() / s.h.out() % s.d.out(),
                   n = i / stride / s.w.out() / s.h.out() / s.d.out();
        long expected = c < s.C ? -1 : 77;
        double best = 0;
        for (long k = 0; c < s.C && k < s.d.kernel * s.h.kernel * s.w.kernel; k++) {
          const Tap d = tap(s.d, z, k / s.w.kernel / s.h.kernel),
                    h = tap(s.h, y, k / s.w.kernel % s.h.kernel), w = tap(s.w, x, k % s.w.kernel);
          if (!(d.inside && h.inside && w.inside)) continue;
          const long place = (d.at * s.h.in + h.at) * s.w.in + w.at;
          const double value = double{in[(n * s.in_pixels() + place) * s.C + c]};
          if (expected < 0 || value > best) expected = place, best = value;
        }
        ASSERT_EQ(places[static_cast<std::size_t>(i)], expected);
        if (expected >= 0 && c < s.C) { ASSERT_EQ(double{out[i / stride * s.C + c]}, best); }
      }
    }
}

TEST_P(Pool, AWindowBesideTheImageHasNoPlace) {
  ThreadPool pool(1);
  const Numbers in(1, 5.0f);
  Numbers out(1);
  std::int64_t place = 0;
  const PoolShape shape{.C = 1, .w = {.in = 1, .kernel = 2, .pad = 2, .dilation = 4}};
  max_pool(shape, {in.data(), 1, out.data(), 1, DType::f32, &place, 1}, pool);
  EXPECT_EQ(place, -1);
  EXPECT_EQ(double{out[0]}, -std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace tenon::cpu
