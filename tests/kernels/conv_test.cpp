// Convolutions of any shape, algorithm, stride and epilogue equal a plain double-precision loop.
#include "kernels/cpu/conv.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "tests/kernels/conv_reference.h"
#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

// Of a sum of as many products as the square of this.
double loss_of(ConvAlgorithm algorithm, const ConvShape& s) {
  const bool is_five = s.w.kernel == 5;
  if (algorithm == ConvAlgorithm::winograd6 || (algorithm == ConvAlgorithm::winograd4 && is_five))
    return 2e-5;
  if (algorithm == ConvAlgorithm::winograd_line) return 1e-5;
  return algorithm == ConvAlgorithm::winograd2 && !is_five ? 2e-6 : 5e-6;
}

void expect_right_in_halves(const ConvShape& s);

// Runs every algorithm that supports the shape, with dense and strided pixels, plain and with each epilogue.
void expect_right(const ConvShape& s) {
  SCOPED_TRACE(testing::PrintToString(s));
  const long weight_size = s.Cin * s.Cout / s.groups * s.taps();
  const long out_pixels = s.N * s.out_pixels();
  const Numbers in = coarse_numbers(s.N * s.in_pixels() * s.Cin, 1);
  const Numbers weights = coarse_numbers(weight_size, 2);
  const Numbers bias = random_numbers(s.Cout, 3);
  const std::vector<double> sums = reference(s, in, weights);
  const double depth = static_cast<double>(s.Cin / s.groups * s.taps());
  for (const auto algorithm :
       {ConvAlgorithm::gemm, ConvAlgorithm::winograd2, ConvAlgorithm::winograd4, ConvAlgorithm::winograd6,
        ConvAlgorithm::winograd_line, ConvAlgorithm::depthwise, ConvAlgorithm::narrow_groups,
        ConvAlgorithm::transposed, ConvAlgorithm::gemm_f16, ConvAlgorithm::gemm_bf16, ConvAlgorithm::taps,
        ConvAlgorithm::strassen}) {
    if (!conv_supports(s, algorithm)) continue;
    const double loss = loss_of(algorithm, s);
    for (const int threads : {1, 3}) {
      for (const bool fancy : {false, true}) {
        SCOPED_TRACE(std::string(name(algorithm)) +
                     (fancy ? ", strided, all epilogues, over the residual" : ""));
        ThreadPool pool(threads);
        const long in_stride = s.Cin + (fancy ? 5 : 0);
        const long out_stride = s.Cout + (fancy ? 3 : 0);
        Numbers input(s.N * s.in_pixels() * in_stride, untouched);
        for (long i = 0; i < s.N * s.in_pixels(); i++) {
          for (long c = 0; c < s.Cin; c++) input[i * in_stride + c] = in[i * s.Cin + c];
        }
        const Numbers residual = random_numbers(out_pixels * s.Cout, 4);
        Numbers packed(conv_packed_size(s, algorithm));
        pack_conv(s, algorithm, weights.data(), packed.data(), pool);
        Numbers scratch(conv_scratch_size(s, algorithm, threads), untouched);
        Numbers out(out_pixels * out_stride, untouched);
        for (long i = 0; fancy && i < out_pixels; i++)
          std::copy_n(residual.data() + i * s.Cout, s.Cout, out.data() + i * out_stride);
        ConvRun run{.in = input.data(),
                    .in_stride = in_stride,
                    .in_is_bf16 = fancy,
                    .packed = packed.data(),
                    .weights = weights.data(),
                    .out = out.data(),
                    .out_stride = out_stride,
                    .scratch = scratch.data()};
        if (fancy) run.epilogue = {bias.data(), out.data(), out_stride, Activation::relu, add_place, nullptr};
        conv(s, algorithm, run, pool);
        for (long i = 0; i < out_pixels; i++) {
          for (long o = 0; o < s.Cout; o++) {
            double expected = sums[static_cast<std::size_t>(i * s.Cout + o)];
            if (fancy) {
              expected = std::max(0.0, expected + double{bias[o]} + double{residual[i * s.Cout + o]}) +
                         static_cast<double>(i % 97 * 100 + o);
            }
            ASSERT_NEAR(out[i * out_stride + o], expected, loss * std::sqrt(depth) + 1e-6 * expected)
                << "pixel " << i << " channel " << o;
          }
          for (long o = s.Cout; o < out_stride; o++) ASSERT_EQ(out[i * out_stride + o], untouched);
        }
      }
    }
  }
  expect_right_in_halves(s);
}

// The image and the result in bfloat16, with strided pixels: plain, with a hook, and rounded to a residual of
// bfloat16.
void expect_right_in_halves(const ConvShape& s) {
  SCOPED_TRACE(testing::PrintToString(s) + " in halves");
  const long out_pixels = s.N * s.out_pixels();
  const Numbers in = coarse_numbers(s.N * s.in_pixels() * s.Cin, 1);
  const Numbers weights = coarse_numbers(s.Cin * s.Cout / s.groups * s.taps(), 2);
  const Numbers bias = random_numbers(s.Cout, 3);
  const Numbers residual = coarse_numbers(out_pixels * s.Cout, 4);
  const std::vector<double> sums = reference(s, in, weights);
  std::vector<std::uint16_t> residual_halves;
  for (long i = 0; i < residual.size(); i++) residual_halves.push_back(BFloat16(residual[i]).bits);
  enum class Form { plain, hook, rounded };
  for (const auto algorithm : {ConvAlgorithm::winograd2, ConvAlgorithm::winograd4, ConvAlgorithm::winograd6,
                               ConvAlgorithm::winograd_line, ConvAlgorithm::gemm_bf16}) {
    if (!conv_supports(s, algorithm)) continue;
    for (const Form form : {Form::plain, Form::hook, Form::rounded}) {
      for (const bool out_halves : {false, true}) {
        if (out_halves ? !conv_writes_halves(s, algorithm) : form == Form::rounded) continue;
        if (s.transposed && out_halves && form == Form::hook) continue;  // it takes none
        ASSERT_TRUE(conv_reads_halves(s, algorithm));
        SCOPED_TRACE(std::string(name(algorithm)) + " form " + std::to_string(static_cast<int>(form)) +
                     (out_halves ? ", result in halves" : ""));
        ThreadPool pool(form == Form::plain ? 1 : 3);
        const long in_stride = s.Cin + (form == Form::plain ? 0 : form == Form::hook ? 5 : 2);
        const long out_stride = s.Cout + 3;
        constexpr std::uint16_t untouched_half = 7;
        std::vector<std::uint16_t> image(static_cast<std::size_t>(s.N * s.in_pixels() * in_stride), 0x7fc0);
        for (long i = 0; i < s.N * s.in_pixels(); i++)
          for (long c = 0; c < s.Cin; c++)
            image[static_cast<std::size_t>(i * in_stride + c)] = BFloat16(in[i * s.Cin + c]).bits;
        Numbers packed(conv_packed_size(s, algorithm));
        pack_conv(s, algorithm, weights.data(), packed.data(), pool);
        Numbers scratch(conv_scratch_size(s, algorithm, pool.threads()), untouched);
        Numbers floats(out_halves ? 0 : out_pixels * out_stride, untouched);
        std::vector<std::uint16_t> halves(out_halves ? static_cast<std::size_t>(out_pixels * out_stride) : 0,
                                          untouched_half);
        ConvRun run{.in_halves = image.data(),
                    .in_stride = in_stride,
                    .packed = packed.data(),
                    .weights = weights.data(),
                    .out = out_halves ? nullptr : floats.data(),
                    .out_halves = out_halves ? halves.data() : nullptr,
                    .out_stride = out_stride,
                    .scratch = scratch.data()};
        const RoundedRows rounding{.to = RoundedRows::To::bf16,
                                   .activation = Activation::relu,
                                   .adds = true,
                                   .rounds_result = true,
                                   .residual_is_half = true};
        if (form != Form::plain) run.epilogue.bias = bias.data();
        if (form == Form::hook) run.epilogue.hook = add_place;
        if (form == Form::rounded) {
          run.epilogue.rounded = &rounding;
          run.epilogue.rounded_residual = residual_halves.data();
          run.epilogue.rounded_residual_stride = s.Cout;
        }
        conv(s, algorithm, run, pool);
        const double depth = static_cast<double>(s.Cin / s.groups * s.taps());
        const double loss = loss_of(algorithm, s) * std::sqrt(depth);
        for (long i = 0; i < out_pixels; i++) {
          for (long o = 0; o < out_stride; o++) {
            const auto at = static_cast<std::size_t>(i * out_stride + o);
            if (o >= s.Cout) {
              ASSERT_TRUE(out_halves ? halves[at] == untouched_half
                                     : floats[static_cast<long>(at)] == untouched);
              continue;
            }
            double expected = sums[static_cast<std::size_t>(i * s.Cout + o)];
            double roundings = 0;  // what is rounded
            if (form != Form::plain) expected += double{bias[o]};
            if (form == Form::hook) expected += static_cast<double>(i % 97 * 100 + o);
            if (form == Form::rounded) {
              roundings = std::abs(expected);
              expected = std::max(0.0, expected + double{residual[i * s.Cout + o]});
            }
            roundings += std::abs(expected);
            const double found = out_halves ? double{float(std::bit_cast<BFloat16>(halves[at]))}
                                            : double{floats[static_cast<long>(at)]};
            const double rounded = out_halves ? roundings / 256 : 1e-6 * std::abs(expected);
            ASSERT_NEAR(found, expected, loss + rounded) << "pixel " << i << " channel " << o;
          }
        }
      }
    }
  }
}

class ConvTest : public OnEveryIsa {};
TENON_EVERY_ISA(ConvTest);

TEST_P(ConvTest, DeepOnFewPixels) {
  expect_right({.N = 2, .Cin = 512, .Cout = 20, .h = axis(2, 3, 1, 1), .w = axis(2, 3, 1, 1)});
}

TEST_P(ConvTest, Pointwise) {
  for (const long channels : {1, 3, 16, 33, 64}) {
    for (const long out : {1, 5, 16, 40}) {
      expect_right({.Cin = channels, .Cout = out, .h = axis(7, 1), .w = axis(7, 1)});
      expect_right({.N = 2, .Cin = channels, .Cout = out, .h = axis(7, 1, 2), .w = axis(6, 1, 2)});
    }
  }
  expect_right({.Cin = 8, .Cout = 8, .h = axis(4, 1, 1, 1), .w = axis(4, 1, 2, 1)});
}

TEST_P(ConvTest, ThreeByThree) {
  for (const long size : {1, 2, 4, 5, 7, 13, 14, 28}) {
    for (const auto& [in, out] :
         {std::pair{3L, 5L}, std::pair{16L, 16L}, std::pair{20L, 37L}, std::pair{64L, 32L}}) {
      expect_right({.Cin = in, .Cout = out, .h = axis(size, 3, 1, 1), .w = axis(size, 3, 1, 1)});
    }
  }
  expect_right({.N = 3, .Cin = 8, .Cout = 24, .h = axis(9, 3), .w = axis(17, 3)});
  expect_right({.Cin = 8, .Cout = 8, .h = axis(6, 3, 1, 2), .w = axis(6, 3, 1, 3)});
  expect_right({.N = 2, .Cin = 9, .Cout = 130, .h = axis(11, 3, 2, 1), .w = axis(10, 3, 2, 1)});
}

TEST_P(ConvTest, FiveByFive) {
  for (const long size : {1, 3, 4, 9, 14}) {
    expect_right({.Cin = 16, .Cout = 20, .h = axis(size, 5, 1, 2), .w = axis(size, 5, 1, 2)});
    expect_right({.N = 2, .Cin = 37, .Cout = 40, .h = axis(size + 4, 5), .w = axis(size + 5, 5, 1, 1)});
  }
  expect_right({.Cin = 16, .Cout = 16, .h = axis(6, 5, 1, 2), .w = axis(9, 5, 1, 2), .d = axis(4, 5, 1, 2)});
}

// Kernels of one axis, which long ones are the sum of parts of.
TEST_P(ConvTest, Lines) {
  for (const long taps : {2, 3, 4, 5, 6, 7, 8, 11, 13}) {
    for (const long dilation : {1, 3}) {
      const long reach = (taps - 1) * dilation;
      const ConvAxis line = axis(19, taps, 1, reach / 2, dilation);
      expect_right({.N = 2, .Cin = 20, .Cout = 37, .w = line});
      expect_right({.Cin = 16, .Cout = 16, .h = line, .w = axis(3, 1)});
      expect_right(
          {.N = 2, .Cin = 5, .Cout = 33, .h = axis(2, 1, 1, 1), .w = axis(reach + 2, taps, 1, 0, dilation)});
      expect_right({.N = 2, .Cin = 7, .Cout = 16, .h = axis(3, 1), .w = axis(2, 1), .d = line});
    }
  }
  expect_right({.Cin = 16, .Cout = 20, .h = axis(4, 1), .w = axis(9, 3, 1, 1), .d = axis(5, 3, 2, 1)});
  expect_right({.Cin = 16, .Cout = 20, .w = axis(3, 4, 1, 9)});
  for (const long stride : {2, 3})
    for (const long taps : {3, 4, 8}) {
      const ConvAxis line = axis(29, taps, stride, taps / 2);
      expect_right({.N = 2, .Cin = 20, .Cout = 37, .w = line});
      expect_right({.Cin = 16, .Cout = 16, .h = line, .w = axis(3, 1)});
      expect_right({.N = 2, .Cin = 7, .Cout = 16, .h = axis(3, 1), .w = axis(2, 1), .d = line});
    }
}

TEST_P(ConvTest, DilatedSquares) {
  for (const long dilation : {2, 5})
    for (const long kernel : {3, 5})
      expect_right({.N = 2,
                    .Cin = 17,
                    .Cout = 20,
                    .h = axis(13, kernel, 1, dilation, dilation),
                    .w = axis(22, kernel, 1, 2 * dilation, dilation)});
}

// On one thread they are padded strip by strip.
TEST_P(ConvTest, LargeImages) {
  expect_right({.N = 2, .Cin = 16, .Cout = 3, .h = axis(210, 3, 2, 1), .w = axis(180, 3, 1, 1)});
}

TEST_P(ConvTest, PaddingOnOneSideOnly) {
  expect_right({.Cin = 5,
                .Cout = 6,
                .h = {.in = 6, .kernel = 3, .pad_before = 2},
                .w = {.in = 8, .kernel = 3, .stride = 2, .pad_after = 1}});
  expect_right({.Cin = 16,
                .Cout = 16,
                .h = {.in = 9, .kernel = 3, .pad_after = 1},
                .w = {.in = 9, .kernel = 3, .pad_before = 1, .pad_after = 2}});
}

TEST_P(ConvTest, OtherKernelsStridesAndDilations) {
  expect_right({.Cin = 3, .Cout = 64, .h = axis(33, 7, 2, 3), .w = axis(31, 7, 2, 3)});
  expect_right({.Cin = 12, .Cout = 20, .h = axis(12, 5, 1, 2), .w = axis(10, 5, 3, 2)});
  expect_right({.Cin = 12, .Cout = 20, .h = axis(12, 3, 1, 2, 2), .w = axis(15, 3, 2, 4, 4)});
  expect_right({.Cin = 4, .Cout = 7, .h = axis(9, 1), .w = axis(9, 5, 1, 2)});
  expect_right({.Cin = 4, .Cout = 7, .h = axis(9, 4, 4), .w = axis(9, 4, 4)});
  expect_right({.Cin = 600, .Cout = 18, .h = axis(8, 3, 2, 1), .w = axis(8, 3, 2, 1)});
}

// Rows of taps of an odd length end within a pair of bfloat16.
TEST_P(ConvTest, OddChannels) {
  for (const long channels : {1, 3, 5, 17}) {
    expect_right({.Cin = channels, .Cout = 40, .h = axis(9, 3, 2, 1), .w = axis(8, 3, 2, 1)});
    expect_right({.N = 2, .Cin = channels, .Cout = 5, .h = axis(6, 2), .w = axis(7, 5, 3, 2)});
    expect_right({.Cin = channels, .Cout = 33, .h = axis(9, 3, 1, 2, 2), .w = axis(9, 3)});
    expect_right({.Cin = channels, .Cout = 33, .h = axis(9, 3), .w = axis(9, 3, 1, 2, 2)});
  }
  EXPECT_TRUE(conv_supports({.Cin = 3, .Cout = 64, .h = axis(9, 7, 2, 3), .w = axis(9, 7, 2, 3)},
                            ConvAlgorithm::gemm_bf16));
}

TEST_P(ConvTest, Groups) {
  for (const long groups : {2, 4, 8}) {
    expect_right({.Cin = 16, .Cout = 32, .h = axis(7, 3, 1, 1), .w = axis(9, 3, 1, 1), .groups = groups});
    expect_right({.Cin = 64, .Cout = 160, .h = axis(5, 1), .w = axis(5, 1), .groups = groups});
  }
  expect_right(
      {.N = 2, .Cin = 12, .Cout = 24, .h = axis(6, 3, 2, 1), .w = axis(6, 3, 1, 1, 1), .groups = 12});
}

TEST_P(ConvTest, GroupsThatAreNarrowerThanAVector) {
  for (const auto& [in, out] :
       std::vector<std::pair<long, long>>{{1, 2}, {1, 16}, {2, 2}, {3, 4}, {4, 4}, {4, 8}, {8, 8}, {16, 16}})
    for (const long groups : {2, 3, 5, 16}) {
      const long from = in * groups, to = out * groups;
      expect_right({.Cin = from, .Cout = to, .h = axis(5, 1), .w = axis(9, 2, 3, 0, 2), .groups = groups});
      expect_right(
          {.N = 2, .Cin = from, .Cout = to, .h = axis(9, 3, 2, 1), .w = axis(18, 3, 1, 1), .groups = groups});
      expect_right({.Cin = from,
                    .Cout = to,
                    .h = axis(8, 3, 1, 2, 2),
                    .w = axis(7, 5, 2, 2),
                    .d = axis(3, 2),
                    .groups = groups});
    }
}

TEST_P(ConvTest, Depthwise) {
  for (const long channels : {2, 5, 16, 35}) {
    expect_right({.Cin = channels,
                  .Cout = channels,
                  .h = axis(9, 3, 1, 1),
                  .w = axis(13, 3, 1, 1),
                  .groups = channels});
    expect_right({.N = 2,
                  .Cin = channels,
                  .Cout = channels,
                  .h = axis(9, 5, 2, 2),
                  .w = axis(14, 5, 2, 2),
                  .groups = channels});
  }
  for (const long kernel : {3, 5, 7, 9}) {
    for (const long stride : {1, 2}) {
      expect_right({.Cin = 66,  // more than a block of channels
                    .Cout = 66,
                    .h = axis(11, kernel, stride, kernel / 2),
                    .w = axis(33 * stride, kernel, stride, kernel / 2),
                    .groups = 66});
    }
  }
  expect_right({.Cin = 4, .Cout = 4, .h = axis(9, 4, 3, 1), .w = axis(50, 11, 3, 5), .groups = 4});
  expect_right({.Cin = 8, .Cout = 8, .h = axis(7, 3, 1, 3, 3), .w = axis(20, 3, 1, 3, 3), .groups = 8});
  expect_right({.Cin = 8, .Cout = 8, .h = axis(2, 5, 1, 4), .w = axis(2, 5, 1, 4), .groups = 8});
  for (const long each : {1, 4})  // more than a strip of each phase, and fewer
    for (const long width : {60, 67, 5})
      expect_right({.Cin = 24, .Cout = 24, .w = axis(width, 5, 1, 4, 2), .groups = 24 / each});
}

// Rows that end anywhere in a strip, whatever its length, and at either edge of it.
TEST_P(ConvTest, DepthwiseOfEveryWidth) {
  for (const long kernel : {1, 3, 5, 7, 9}) {
    for (long width = 1; width <= 31; width++) {
      expect_right(
          {.Cin = 9, .Cout = 9, .h = axis(3, 3, 1, 1), .w = axis(width, kernel, 1, kernel / 2), .groups = 9});
    }
  }
}

TEST_P(ConvTest, DepthwiseInThreeDimensions) {
  for (const long channels : {3, 35}) {
    expect_right({.N = 2,
                  .Cin = channels,
                  .Cout = channels,
                  .h = axis(9, 3, 2, 1),
                  .w = axis(17, 3, 1, 1),
                  .d = axis(5, 3, 1, 1),
                  .groups = channels});
    expect_right({.Cin = channels,
                  .Cout = channels,
                  .h = axis(3, 1),
                  .w = axis(16, 1),
                  .d = axis(9, 5, 2, 4, 2),
                  .groups = channels});
  }
  EXPECT_EQ(choose_conv({.Cin = 54,
                         .Cout = 54,
                         .h = axis(56, 3, 1, 1),
                         .w = axis(56, 3, 1, 1),
                         .d = axis(16, 3, 1, 1),
                         .groups = 54}),
            ConvAlgorithm::depthwise);
}

// Products by columns, where an ISA's vectors have so many lanes.
TEST_P(ConvTest, FewOutputs) {
  for (const long outputs : {1, 2, 3, 4, 8}) {
    expect_right({.Cin = 64, .Cout = outputs, .h = axis(9, 3, 1, 1), .w = axis(11, 3, 1, 1)});
    expect_right({.N = 2, .Cin = 37, .Cout = outputs, .h = axis(9, 3, 2, 1), .w = axis(14, 5, 1, 4, 2)});
    expect_right({.Cin = 130, .Cout = outputs, .h = axis(7, 1), .w = axis(30, 1)});
  }
  expect_right({.Cin = 2, .Cout = 1, .h = axis(12, 7, 1, 3), .w = axis(20, 7, 1, 3)});
  expect_right(
      {.N = 2, .Cin = 16, .Cout = 2, .h = axis(6, 3, 1, 1), .w = axis(6, 3, 1, 1), .d = axis(4, 3, 1, 1)});
  expect_right({.Cin = 64, .Cout = 4, .h = axis(7, 3, 1, 1), .w = axis(9, 3, 1, 1), .groups = 2});
}

TEST_P(ConvTest, OneDimension) {
  expect_right({.N = 2, .Cin = 10, .Cout = 20, .w = axis(50, 5, 2, 2)});
  expect_right({.Cin = 1, .Cout = 16, .w = axis(90, 10, 5, 0)});
  expect_right({.Cin = 6, .Cout = 6, .w = axis(40, 7, 1, 3), .groups = 6});
}

TEST_P(ConvTest, ThreeDimensions) {
  expect_right(
      {.N = 2, .Cin = 5, .Cout = 9, .h = axis(6, 3, 1, 1), .w = axis(7, 3, 2, 1), .d = axis(5, 3, 2, 1)});
  expect_right({.Cin = 3, .Cout = 4, .h = axis(4, 2, 2), .w = axis(4, 2, 2), .d = axis(4, 2, 2)});
  // Winograd's, by planes.
  expect_right(
      {.N = 2, .Cin = 21, .Cout = 18, .h = axis(9, 3, 1, 1), .w = axis(7, 3, 1, 1), .d = axis(5, 3, 1, 1)});
  expect_right({.Cin = 16, .Cout = 40, .h = axis(6, 3), .w = axis(13, 3), .d = axis(7, 2, 3, 4, 2)});
  // Strides that leave lines unread.
  expect_right({.Cin = 32, .Cout = 40, .h = axis(8, 3, 2), .w = axis(8, 3, 2, 1), .d = axis(9, 3, 2, 1)});
  expect_right(
      {.N = 2, .Cin = 16, .Cout = 16, .h = axis(5, 3, 1, 1), .w = axis(5, 3, 1, 1), .d = axis(3, 1)});
  expect_right(
      {.Cin = 4, .Cout = 8, .h = axis(4, 1), .w = axis(4, 1), .d = axis(3, 3, 1, 2, 2), .groups = 2});
}

TEST_P(ConvTest, Transposed) {
  const auto up = [](long in, long kernel, long stride, long pad = 0, long dilation = 1,
                     long output_padding = 0) {
    ConvAxis a = axis(in, kernel, stride, pad, dilation);
    a.output_padding = output_padding;
    return a;
  };
  expect_right({.Cin = 16, .Cout = 20, .h = up(7, 2, 2), .w = up(5, 2, 2), .transposed = true});
  expect_right(
      {.N = 2, .Cin = 8, .Cout = 5, .h = up(6, 4, 2, 1), .w = up(7, 3, 2, 1, 1, 1), .transposed = true});
  expect_right({.Cin = 3, .Cout = 33, .h = up(5, 3, 1, 1), .w = up(5, 3, 1, 0), .transposed = true});
  expect_right(
      {.Cin = 4, .Cout = 4, .h = up(5, 3, 2, 2, 2, 1), .w = up(5, 2, 3, 0, 1, 2), .transposed = true});
  expect_right(
      {.Cin = 8, .Cout = 12, .h = up(4, 3, 2, 1), .w = up(4, 3, 2, 1), .groups = 4, .transposed = true});
  expect_right({.Cin = 6, .Cout = 3, .w = up(20, 16, 8, 4), .transposed = true});
  expect_right({.Cin = 40, .Cout = 3, .h = up(7, 4, 2, 1), .w = up(9, 4, 2, 1), .transposed = true});
  expect_right({.N = 2,
                .Cin = 56,
                .Cout = 2,
                .h = up(6, 9, 3, 4, 1, 2),
                .w = up(5, 9, 3, 4, 1, 2),
                .groups = 2,
                .transposed = true});
  // Taps of a line that lie one behind the other, and that do not.
  expect_right(
      {.N = 2, .Cin = 21, .Cout = 21, .h = up(6, 9, 2, 2), .w = up(20, 9, 2, 2), .transposed = true});
  expect_right({.Cin = 7, .Cout = 34, .h = up(1, 1, 1), .w = up(9, 1, 1), .transposed = true});
  expect_right({.Cin = 12, .Cout = 12, .h = up(4, 4, 2, 1), .w = up(7, 6, 4, 3, 2), .transposed = true});
  expect_right({.Cin = 5, .Cout = 6, .h = up(4, 3, 2, 1), .w = up(7, 5, 2, 3, 3), .transposed = true});
  expect_right({.N = 2,
                .Cin = 3,
                .Cout = 4,
                .h = up(3, 2, 2),
                .w = up(3, 3, 2, 1),
                .d = up(3, 3, 2, 1),
                .transposed = true});
}

// Weights of bfloat16 are packed as float32 of the same numbers is.
TEST_P(ConvTest, WeightsInHalvesArePackedAsTheyLie) {
  for (const bool transposed : {false, true}) {
    for (const auto& [in, out, groups] : {std::array{6L, 40L, 1L}, {7L, 5L, 1L}, {8L, 12L, 2L}}) {
      const ConvShape s{.Cin = in,
                        .Cout = out,
                        .h = axis(9, 4, 2, 1),
                        .w = axis(8, 3, 2, 1),
                        .groups = groups,
                        .transposed = transposed};
      if (!conv_supports(s, ConvAlgorithm::gemm_bf16)) continue;
      const Numbers weights = coarse_numbers(in * out / groups * s.taps(), 2);
      std::vector<std::uint16_t> halves;
      for (long i = 0; i < weights.size(); i++) halves.push_back(BFloat16(weights[i]).bits);
      ThreadPool pool(2);
      const long size = conv_packed_size(s, ConvAlgorithm::gemm_bf16);
      Numbers expected(size, untouched), packed(size, untouched);
      pack_conv(s, ConvAlgorithm::gemm_bf16, weights.data(), expected.data(), pool);
      pack_conv_halves(s, halves.data(), packed.data(), pool);
      for (long i = 0; i < size; i++)
        ASSERT_EQ(std::bit_cast<std::uint32_t>(packed[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
    }
  }
}

TEST(ConvTest, TapsReadWhatIsNoPadding) {
  const auto wide = [](long in, long dilation, long stride = 1) {
    return axis(in, 3, stride, dilation, dilation);
  };
  for (const ConvShape& s : {
           ConvShape{.N = 2, .Cin = 33, .Cout = 40, .h = wide(16, 12), .w = wide(9, 12)},
           ConvShape{.Cin = 7, .Cout = 5, .h = wide(1, 1), .w = wide(2, 1)},
           ConvShape{.Cin = 16, .Cout = 20, .h = wide(7, 6, 2), .w = wide(8, 5, 3)},
           ConvShape{.N = 2, .Cin = 16, .Cout = 32, .h = wide(4, 1), .w = wide(3, 1), .d = wide(2, 1)},
       }) {
    EXPECT_TRUE(conv_supports(s, ConvAlgorithm::taps)) << testing::PrintToString(s);
    expect_right(s);
  }
  EXPECT_FALSE(
      conv_supports({.Cin = 16, .Cout = 16, .h = wide(56, 1), .w = wide(56, 1)}, ConvAlgorithm::taps));
}

}  // namespace
}  // namespace tenon::cpu
