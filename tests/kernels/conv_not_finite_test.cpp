// What is not finite in an image reaches the outputs that read it, and no others.
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "kernels/cpu/conv.h"
#include "tests/kernels/conv_reference.h"
#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class NotFiniteImage : public OnEveryIsa {};
TENON_EVERY_ISA(NotFiniteImage);

// Winograd's transforms would spread it over a tile; outputs of few channels are then products by columns.
TEST_P(NotFiniteImage, ANanOfAnImageInHalvesReachesItsReadersAlone) {
  ThreadPool pool(2);
  for (const long outputs : {1, 4, 8, 40})
    for (const ConvAlgorithm algorithm :
         {ConvAlgorithm::winograd2, ConvAlgorithm::winograd4, ConvAlgorithm::winograd6}) {
      const ConvShape s{.Cin = 24, .Cout = outputs, .h = axis(9, 3, 1, 1), .w = axis(11, 3, 1, 1)};
      const Numbers weights = coarse_numbers(s.Cin * s.Cout * 9, 2);
      Numbers in = coarse_numbers(s.in_pixels() * s.Cin, 1);
      constexpr long nan_y = 4, nan_x = 7;
      in[(nan_y * s.w.in + nan_x) * s.Cin + 5] = 0;
      const std::vector<double> sums = reference(s, in, weights);
      std::vector<std::uint16_t> image, halves(static_cast<std::size_t>(s.out_pixels() * s.Cout));
      for (long i = 0; i < in.size(); i++) image.push_back(BFloat16(in[i]).bits);
      image[static_cast<std::size_t>((nan_y * s.w.in + nan_x) * s.Cin + 5)] = 0x7fc0;
      Numbers packed(conv_packed_size(s, algorithm)), scratch(conv_scratch_size(s, algorithm, 2));
      pack_conv(s, algorithm, weights.data(), packed.data(), pool);
      Epilogue epilogue;
      epilogue.hook = add_place;
      conv(s, algorithm,
           {.in_halves = image.data(),
            .in_stride = s.Cin,
            .packed = packed.data(),
            .weights = weights.data(),
            .out_halves = halves.data(),
            .out_stride = s.Cout,
            .epilogue = epilogue,
            .scratch = scratch.data()},
           pool);
      for (long i = 0; i < s.out_pixels(); i++)
        for (long o = 0; o < s.Cout; o++) {
          const double found =
              float(std::bit_cast<BFloat16>(halves[static_cast<std::size_t>(i * s.Cout + o)]));
          const bool reads_nan = std::abs(i / s.w.in - nan_y) <= 1 && std::abs(i % s.w.in - nan_x) <= 1;
          const double expected =
              sums[static_cast<std::size_t>(i * s.Cout + o)] + static_cast<double>(i % 97 * 100 + o);
          if (reads_nan)
            ASSERT_TRUE(std::isnan(found)) << i << " " << o;
          else
            ASSERT_NEAR(found, expected, 1e-4 + std::abs(expected) / 256) << i << " " << o;
        }
    }
}

TEST_P(NotFiniteImage, LinesAndDilatedTiles) {
  ThreadPool pool(2);
  const ConvAxis line = axis(15, 4, 1, 2), spread = axis(15, 3, 1, 2, 2), plain = axis(6, 1);
  for (const auto& [s, algorithm] : {
           std::pair{ConvShape{.Cin = 20, .Cout = 24, .h = plain, .w = line}, ConvAlgorithm::winograd_line},
           std::pair{ConvShape{.Cin = 20, .Cout = 24, .h = line, .w = plain}, ConvAlgorithm::winograd_line},
           std::pair{ConvShape{.Cin = 20, .Cout = 24, .h = spread, .w = plain}, ConvAlgorithm::winograd_line},
           std::pair{ConvShape{.Cin = 20, .Cout = 24, .w = axis(15, 4, 2, 2)}, ConvAlgorithm::winograd_line},
           std::pair{ConvShape{.Cin = 20, .Cout = 24, .w = plain, .d = line}, ConvAlgorithm::winograd_line},
           std::pair{ConvShape{.Cin = 20, .Cout = 24, .h = spread, .w = spread}, ConvAlgorithm::winograd4},
       }) {
    const Numbers weights = coarse_numbers(s.Cin * s.Cout * s.taps(), 2);
    Numbers in = coarse_numbers(s.in_pixels() * s.Cin, 1);
    in[s.in_pixels() / 2 * s.Cin + 5] = std::numeric_limits<float>::infinity();
    in[3 * s.Cin + 1] = std::numeric_limits<float>::quiet_NaN();
    const std::vector<double> expected = reference(s, in, weights);
    Numbers packed(conv_packed_size(s, algorithm)), scratch(conv_scratch_size(s, algorithm, 2));
    pack_conv(s, algorithm, weights.data(), packed.data(), pool);
    Numbers out(s.out_pixels() * s.Cout);
    conv(s, algorithm,
         {.in = in.data(),
          .in_stride = s.Cin,
          .packed = packed.data(),
          .weights = weights.data(),
          .out = out.data(),
          .out_stride = s.Cout,
          .scratch = scratch.data()},
         pool);
    for (long i = 0; i < out.size(); i++) {
      const double e = expected[static_cast<std::size_t>(i)];
      if (std::isfinite(e))
        ASSERT_NEAR(out[i], e, 1e-4) << testing::PrintToString(s) << " " << i;
      else
        ASSERT_EQ(std::isnan(out[i]), std::isnan(e)) << testing::PrintToString(s) << " " << i;
    }
  }
}

// So would products of several groups at once.
TEST_P(NotFiniteImage, ANanOfAGroupInHalvesReachesItsReadersAlone) {
  ThreadPool pool(2);
  constexpr ConvAlgorithm algorithm = ConvAlgorithm::gemm_bf16;
  const ConvShape s{.Cin = 16, .Cout = 32, .h = axis(5, 3, 1, 1), .w = axis(6, 3, 1, 1), .groups = 4};
  if (!conv_supports(s, algorithm)) GTEST_SKIP() << "products of float32 are faster here";
  const Numbers weights = coarse_numbers(s.Cin * s.Cout / s.groups * 9, 2);
  const Numbers in = coarse_numbers(s.in_pixels() * s.Cin, 1);
  constexpr long nan_y = 2, nan_x = 3, group = 1;
  const std::vector<double> sums = reference(s, in, weights);
  for (const std::uint16_t not_finite : {0x7fc0, 0xff80}) {
    std::vector<std::uint16_t> image;
    for (long i = 0; i < in.size(); i++) image.push_back(BFloat16(in[i]).bits);
    image[static_cast<std::size_t>((nan_y * s.w.in + nan_x) * s.Cin + 4 * group)] = not_finite;
    Numbers packed(conv_packed_size(s, algorithm)), scratch(conv_scratch_size(s, algorithm, 2));
    pack_conv(s, algorithm, weights.data(), packed.data(), pool);
    Numbers out(s.out_pixels() * s.Cout);
    conv(s, algorithm,
         {.in_halves = image.data(),
          .in_stride = s.Cin,
          .packed = packed.data(),
          .weights = weights.data(),
          .out = out.data(),
          .out_stride = s.Cout,
          .scratch = scratch.data()},
         pool);
    for (long i = 0; i < s.out_pixels(); i++)
      for (long o = 0; o < s.Cout; o++) {
        const bool reads_it =
            o / 8 == group && std::abs(i / s.w.in - nan_y) <= 1 && std::abs(i % s.w.in - nan_x) <= 1;
        if (reads_it)
          ASSERT_FALSE(std::isfinite(out[i * s.Cout + o])) << i << " " << o;
        else
          ASSERT_NEAR(out[i * s.Cout + o], sums[static_cast<std::size_t>(i * s.Cout + o)], 1e-4);
      }
  }
}

}  // namespace
}  // namespace tenon::cpu
