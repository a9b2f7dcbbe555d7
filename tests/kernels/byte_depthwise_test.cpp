// Depthwise convolutions of bytes give the bits of those of the float32 that the bytes stand for.
#include "kernels/cpu/byte_depthwise.h"

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/conv.h"
#include "tests/kernels/conv_axis.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/sink.h"

namespace tenon::cpu {
namespace {

class ByteDepthwiseTest : public OnEveryIsa {};
TENON_EVERY_ISA(ByteDepthwiseTest);

const std::vector<ConvShape>& shapes() {
  static const std::vector<ConvShape> all = {
      depthwise_of(1, 16, axis(3, 1), axis(5, 1)),
      depthwise_of(2, 70, axis(9, 3, 1, 1), axis(17, 3, 1, 1)),
      depthwise_of(1, 64, axis(28, 3, 2, 1), axis(28, 3, 2, 1)),
      depthwise_of(1, 33, axis(7, 5, 2, 2), axis(15, 5, 1, 2)),
      depthwise_of(1, 130, axis(6, 3, 1, 4, 2), axis(5, 3, 1, 4, 2)),
      depthwise_of(3, 20, {}, axis(31, 7, 1, 3)),
      depthwise_of(1, 64, axis(70, 3, 1, 1), axis(112, 3, 1, 1)),
  };
  return all;
}

TEST_P(ByteDepthwiseTest, EqualsThatOfFloats) {
  ThreadPool pool(2);
  constexpr float zero = 77, scale = 0.37F;
  for (std::size_t i = 0; i < shapes().size(); i++) {
    const ConvShape& s = shapes()[i];
    ASSERT_TRUE(byte_depthwise_supports(s)) << i;
    const long stride = s.Cin + 3, pixels = s.N * s.out_pixels();
    for (const bool is_signed : {false, true})
      for (const bool is_finite : {false, true}) {
        std::vector<std::uint8_t> bytes;
        std::vector<float> floats, filters, bias;
        for (long k = 0; k < s.N * s.in_pixels() * stride; k++) {
          bytes.push_back(static_cast<std::uint8_t>(k * 157 + k / 7));
          const float code =
              is_signed ? static_cast<float>(static_cast<std::int8_t>(bytes.back())) : bytes.back();
          floats.push_back((code - zero) * scale);
        }
        for (long k = 0; k < s.Cin * s.taps(); k++) filters.push_back(std::sin(static_cast<float>(k)));
        if (!is_finite) filters[0] = std::numeric_limits<float>::quiet_NaN();
        for (long c = 0; c < s.Cin; c++) bias.push_back(static_cast<float>(c % 9));

        std::vector<float> packed(static_cast<std::size_t>(conv_packed_size(s, ConvAlgorithm::depthwise)));
        pack_conv(s, ConvAlgorithm::depthwise, filters.data(), packed.data(), pool);
        std::vector<float> expected(static_cast<std::size_t>(pixels * s.Cout));
        conv(s, ConvAlgorithm::depthwise,
             {.in = floats.data(),
              .in_stride = stride,
              .packed = packed.data(),
              .out = expected.data(),
              .out_stride = s.Cout,
              .epilogue = {.bias = bias.data()}},
             pool);

        packed.resize(static_cast<std::size_t>(byte_depthwise_packed_size(s)));
        pack_byte_depthwise(s, filters.data(), packed.data());
        std::vector<float> scratch(static_cast<std::size_t>(byte_depthwise_scratch_size(s, pool.threads())));
        std::vector<float> out(expected.size());
        ByteDepthwise run{.in = bytes.data(),
                          .in_is_signed = is_signed,
                          .in_stride = stride,
                          .zero = zero,
                          .scale = scale,
                          .filters_are_finite = is_finite,
                          .packed = packed.data(),
                          .out = out.data(),
                          .out_stride = s.Cout,
                          .epilogue = {.bias = bias.data()}};
        byte_depthwise(s, run, scratch.data(), pool);
        Sink sink{std::vector<float>(expected.size()), s.Cout};
        run.out = nullptr;
        run.epilogue.hook = write_to_sink;
        run.epilogue.context = &sink;
        byte_depthwise(s, run, scratch.data(), pool);
        const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        for (std::size_t k = 0; k < out.size(); k++) {
          ASSERT_TRUE(same(out[k], expected[k])) << "shape " << i << ", element " << k << ": " << out[k];
          ASSERT_TRUE(same(sink.result[k], expected[k])) << "shape " << i << ", element " << k;
        }
      }
  }
}

}  // namespace
}  // namespace tenon::cpu
