// Depthwise convolutions of bytes by bytes equal plain loops of integers, to floats, to a hook and to codes.
#include "kernels/cpu/integer_depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cpu/coded_rows.h"
#include "tests/kernels/conv_axis.h"
#include "tests/kernels/sink.h"

namespace tenon::cpu {
namespace {

const std::vector<ConvShape>& shapes() {
  static const std::vector<ConvShape> all = {
      depthwise_of(1, 16, axis(3, 1), axis(5, 1)),
      depthwise_of(2, 64, axis(9, 3, 1, 1), axis(17, 3, 1, 1)),
      depthwise_of(1, 96, axis(28, 3, 2, 1), axis(29, 3, 2, 1)),
      depthwise_of(1, 33, axis(7, 5, 2, 2), axis(15, 5, 1, 2)),
      depthwise_of(1, 130, axis(6, 3, 1, 4, 2), axis(5, 3, 1, 4, 2)),
      depthwise_of(2, 7, axis(11, 3, 3, 2, 2), axis(13, 4, 3, 5, 3)),
      depthwise_of(3, 24, {}, axis(31, 7, 1, 3)),
      depthwise_of(1, 2, axis(1, 3, 1, 1), axis(1, 3, 1, 1)),
      depthwise_of(1, 960, axis(7, 5, 1, 2), axis(7, 5, 1, 2)),
      depthwise_of(1, 32, axis(70, 3, 1, 1), axis(112, 3, 1, 1)),
      {.N = 1,
       .Cin = 40,
       .Cout = 40,
       .h = {.in = 8, .kernel = 3, .stride = 2, .pad_before = 0, .pad_after = 1},
       .w = {.in = 8, .kernel = 3, .stride = 2, .pad_before = 0, .pad_after = 1},
       .groups = 40},
  };
  return all;
}

constexpr ByteScale image_scale{.zero = 77, .scale = 0.5F};

struct Layer {
  std::vector<std::uint8_t> image;  // unsigned
  std::vector<std::uint8_t> codes;
  std::vector<std::int16_t> zeros;
  std::vector<float> scales, bias, packed;

  Layer(const ConvShape& s, long stride) {
    std::mt19937 engine(1);
    const auto draw = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(engine);
    };
    for (long i = 0; i < s.N * s.in_pixels() * stride; i++)
      image.push_back(static_cast<std::uint8_t>(draw(0, 255)));
    for (long i = 0; i < s.Cin * s.taps(); i++) codes.push_back(static_cast<std::uint8_t>(draw(3, 129)));
    std::vector<std::int64_t> rows, columns;
    for (long k = 0; k < s.taps(); k++) rows.push_back(k);
    for (long c = 0; c < s.Cin; c++) {
      columns.push_back(c * s.taps());
      zeros.push_back(static_cast<std::int16_t>(draw(2, 131)));
      scales.push_back(std::ldexp(1.0F, draw(-3, 0)));
      bias.push_back(static_cast<float>(draw(-50, 50)));
    }
    packed.resize(static_cast<std::size_t>(integer_depthwise_packed_size(s)));
    pack_integer_depthwise(s,
                           {.codes = codes.data(),
                            .type = DType::u8,
                            .k_offsets = rows.data(),
                            .n_offsets = columns.data(),
                            .scales = scales.data(),
                            .zeros = zeros.data()},
                           image_scale, packed.data());
  }

  // Sums whose scales are powers of two: float32 holds them.
  std::vector<float> expected(const ConvShape& s, long stride) const {
    std::vector<float> out;
    for (long n = 0; n < s.N; n++)
      for (long y = 0; y < s.out(s.h); y++)
        for (long x = 0; x < s.out(s.w); x++)
          for (long c = 0; c < s.Cin; c++) {
            const auto channel = static_cast<std::size_t>(c);
            long sum = 0;
            for (long ky = 0; ky < s.h.kernel; ky++)
              for (long kx = 0; kx < s.w.kernel; kx++) {
                const long row = y * s.h.stride + ky * s.h.dilation - s.h.pad_before,
                           col = x * s.w.stride + kx * s.w.dilation - s.w.pad_before;
                if (row < 0 || row >= s.h.in || col < 0 || col >= s.w.in) continue;
                const long at = ((n * s.h.in + row) * s.w.in + col) * stride + c;
                const long tap = c * s.taps() + ky * s.w.kernel + kx;
                sum += (image[static_cast<std::size_t>(at)] - image_scale.zero) *
                       (codes[static_cast<std::size_t>(tap)] - zeros[channel]);
              }
            out.push_back(static_cast<float>(sum) * (image_scale.scale * scales[channel]) + bias[channel]);
          }
    return out;
  }
};

float code_of(const Quantise& how, float x) {
  const float steps = how.multiplies ? x * how.scale : x / how.scale;
  return std::clamp(std::nearbyint(steps) + how.zero, how.low, how.high);
}
std::uint8_t code_of(const CodedRows& rows, float x) {
  if (rows.rounds) x = (code_of(rows.first, x) - rows.of_first.zero) * rows.of_first.scale;
  const bool is_hardswish = rows.activation.kind == Activation::Kind::hardswish;
  if (is_hardswish) x = x * (std::min(std::max(x + 3, 0.0F), 6.0F) / 6);
  if (!is_hardswish) x = std::min(std::max(x, rows.activation.low), rows.activation.high);
  return static_cast<std::uint8_t>(static_cast<int>(code_of(rows.last, x)));
}

class IntegerDepthwiseTest : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (!integer_depthwise_supports(shape)) GTEST_SKIP() << "this CPU has no dot product of bytes";
  }

  const ConvShape shape = shapes()[GetParam()];
  const long stride = shape.Cin + 3;
  ThreadPool pool{2};
};
INSTANTIATE_TEST_SUITE_P(Shapes, IntegerDepthwiseTest, testing::Range<std::size_t>(0, shapes().size()));

TEST_P(IntegerDepthwiseTest, EqualsPlainLoops) {
  for (const bool is_dense : {false, true})
    for (const bool is_signed : {false, true}) {
      const long pixel = is_dense ? shape.Cin : stride;
      const Layer layer(shape, pixel);
      const std::vector<float> expected = layer.expected(shape, pixel);
      std::vector<std::uint8_t> bytes = layer.image;
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(byte - (is_signed ? 128 : 0));
      std::vector<std::uint8_t> scratch(
          static_cast<std::size_t>(integer_depthwise_scratch_size(shape, pool.threads())));
      std::vector<float> out(expected.size());
      IntegerDepthwise run{.in = bytes.data(),
                           .in_is_signed = is_signed,
                           .in_stride = pixel,
                           .zero = image_scale.zero,
                           .packed = layer.packed.data(),
                           .out = out.data(),
                           .out_stride = shape.Cin,
                           .epilogue = {.bias = layer.bias.data()}};
      integer_depthwise(shape, run, scratch.data(), pool);
      EXPECT_EQ(out, expected);

      Sink sink{std::vector<float>(expected.size()), shape.Cin};
      run.out = nullptr;
      run.epilogue.hook = write_to_sink;
      run.epilogue.context = &sink;
      integer_depthwise(shape, run, scratch.data(), pool);
      EXPECT_EQ(sink.result, expected);
    }
}

TEST_P(IntegerDepthwiseTest, WritesCodes) {
  const Layer layer(shape, shape.Cin);
  const std::vector<float> expected = layer.expected(shape, shape.Cin);
  std::vector<std::uint8_t> scratch(
      static_cast<std::size_t>(integer_depthwise_scratch_size(shape, pool.threads())));
  constexpr auto to_codes = CodedRows::Result::codes;
  const CodedRows all{.result = to_codes, .last = {.scale = 43.7F, .zero = 101}},
      clamped{.activation = {Activation::Kind::clamp, 0, 960.5F},
              .result = to_codes,
              .last = {.scale = 16, .zero = -3, .low = -128, .high = 127}},
      narrow{.result = to_codes,
             .last = {.scale = 0.021F, .multiplies = true, .zero = 128, .low = 3, .high = 254}},
      by_way_of_others{.rounds = true,
                       .first = {.scale = 51, .zero = 120},
                       .of_first = {.scale = 48, .zero = 118},
                       .activation = {Activation::Kind::hardswish},
                       .result = to_codes,
                       .last = {.scale = 43.7F, .zero = 101}};
  constexpr std::uint8_t untouched = 55;
  for (const CodedRows& how : {all, clamped, narrow, by_way_of_others})
    for (const long out_stride : {shape.Cin, shape.Cin + 5}) {
      std::vector<std::uint8_t> out(static_cast<std::size_t>(shape.N * shape.out_pixels() * out_stride),
                                    untouched);
      CodesOfSums codes = *CodesOfSums::of(how);
      codes.to = out.data();
      codes.stride = out_stride;
      const IntegerDepthwise run{.in = layer.image.data(),
                                 .in_stride = shape.Cin,
                                 .zero = image_scale.zero,
                                 .packed = layer.packed.data(),
                                 .epilogue = {.bias = layer.bias.data(), .codes = &codes}};
      integer_depthwise(shape, run, scratch.data(), pool);
      for (long i = 0; i < std::ssize(out); i++) {
        const long pixel = i / out_stride, c = i % out_stride;
        const std::uint8_t wanted =
            c < shape.Cin ? code_of(how, expected[static_cast<std::size_t>(pixel * shape.Cin + c)])
                          : untouched;
        ASSERT_EQ(out[static_cast<std::size_t>(i)], wanted) << "pixel " << pixel << ", channel " << c;
      }
    }
}

}  // namespace
}  // namespace tenon::cpu
