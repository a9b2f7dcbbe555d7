// Convolutions of bytes equal plain loops of integers, whatever their shape, from floats and from bytes, to
// floats and to bytes.
#include "kernels/cpu/byte_conv.h"

#include <atomic>
#include <cmath>
#include <random>
#include <vector>

#include "kernels/cpu/coded_rows.h"
#include "tests/kernels/conv_axis.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/sink.h"

namespace tenon::cpu {
namespace {

class ByteConvTest : public OnEveryIsa {};
TENON_EVERY_ISA(ByteConvTest);

const std::vector<ConvShape>& shapes() {
  static const std::vector<ConvShape> all = {
      {.N = 1, .Cin = 1, .Cout = 1, .h = axis(1, 1), .w = axis(1, 1)},
      {.N = 2, .Cin = 64, .Cout = 64, .h = axis(7, 1), .w = axis(5, 1)},
      {.N = 1, .Cin = 128, .Cout = 40, .h = axis(6, 1, 2), .w = axis(9, 1, 2)},
      {.N = 1, .Cin = 3, .Cout = 17, .h = axis(11, 7, 2, 3), .w = axis(13, 7, 2, 3)},
      {.N = 2, .Cin = 6, .Cout = 33, .h = axis(7, 3, 1, 1), .w = axis(5, 3, 1, 1)},
      {.N = 1, .Cin = 20, .Cout = 32, .h = axis(9, 3, 1, 2, 2), .w = axis(9, 3, 1, 2, 2)},
      {.N = 1, .Cin = 32, .Cout = 8, .h = axis(5, 3), .w = axis(6, 2, 1, 1), .groups = 4},
      {.N = 1, .Cin = 24, .Cout = 150, .w = axis(37, 5, 1, 2)},
      {.N = 1, .Cin = 4, .Cout = 32, .h = axis(3, 1), .w = axis(1024, 1)},
      {.N = 1, .Cin = 512, .Cout = 16, .h = axis(4, 3, 1, 1), .w = axis(4, 3, 1, 1)},
      {.N = 2, .Cin = 8, .Cout = 33, .h = axis(5, 2, 2), .w = axis(7, 2, 2), .transposed = true},
      {.N = 1, .Cin = 6, .Cout = 5, .h = axis(4, 4, 2, 1), .w = axis(3, 3, 2, 1), .transposed = true},
      {.N = 1, .Cin = 4, .Cout = 16, .h = axis(3, 5, 3), .w = axis(4, 3, 1, 0, 2), .transposed = true},
      {.N = 1, .Cin = 16, .Cout = 20, .w = axis(9, 8, 4, 2), .transposed = true},
  };
  return all;
}

// The place that output o reads with tap k; -1: none.
long read_by(const ConvShape& s, const ConvAxis& a, long o, long k) {
  if (!s.transposed) return o * a.stride + k * a.dilation - a.pad_before;
  const long reach = o + a.pad_before - k * a.dilation;
  return reach % a.stride == 0 ? reach / a.stride : -1;
}

constexpr int zero_point = 77;

// What a layer is given: bytes of which zero_point is taken away, and filters with zero points of their own.
struct Layer {
  std::vector<std::uint8_t> image, codes;
  std::vector<std::int16_t> zeros;
  std::vector<float> scales, bias;

  explicit Layer(const ConvShape& s) {
    std::mt19937 engine(1);
    const auto draw = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(engine);
    };
    for (long i = 0; i < s.N * s.in_pixels() * s.Cin; i++)
      image.push_back(static_cast<std::uint8_t>(draw(0, 255)));
    for (long i = 0; i < s.Cout * s.Cin / s.groups * s.taps(); i++)
      codes.push_back(static_cast<std::uint8_t>(draw(3, 129)));
    for (long n = 0; n < s.Cout; n++) {
      zeros.push_back(static_cast<std::int16_t>(draw(2, 131)));
      scales.push_back(std::ldexp(1.0F, draw(-3, 0)));
      bias.push_back(static_cast<float>(draw(-50, 50)));
    }
  }

  std::vector<float> packed(const ConvShape& s, ThreadPool& pool) const {
    std::vector<std::int64_t> rows, columns;
    const long depth = s.Cin / s.groups * s.taps();
    for (long k = 0; k < depth; k++) rows.push_back(k);
    for (long n = 0; n < s.Cout; n++) columns.push_back(n * depth);
    std::vector<float> words(static_cast<std::size_t>(byte_conv_packed_size(s)));
    pack_byte_conv(s,
                   {.codes = codes.data(),
                    .type = DType::u8,
                    .k_offsets = rows.data(),
                    .n_offsets = columns.data(),
                    .scales = scales.data(),
                    .zeros = zeros.data()},
                   words.data(), pool);
    return words;
  }

  // Of images whose numbers are halves of integers.
  std::vector<float> expected(const ConvShape& s) const {
    std::vector<float> out;
    const long in_each = s.Cin / s.groups;
    for (long n = 0; n < s.N; n++)
      for (long y = 0; y < s.out(s.h); y++)
        for (long x = 0; x < s.out(s.w); x++)
          for (long o = 0; o < s.Cout; o++) {
            const auto column = static_cast<std::size_t>(o);
            long sum = 0;
            for (long c = 0; c < in_each; c++)
              for (long ky = 0; ky < s.h.kernel; ky++)
                for (long kx = 0; kx < s.w.kernel; kx++) {
                  const long row = read_by(s, s.h, y, ky), col = read_by(s, s.w, x, kx);
                  if (row < 0 || row >= s.h.in || col < 0 || col >= s.w.in) continue;
                  const long channel = o / (s.Cout / s.groups) * in_each + c;
                  const long at = ((n * s.h.in + row) * s.w.in + col) * s.Cin + channel;
                  const long code = (o * in_each + c) * s.taps() + ky * s.w.kernel + kx;
                  sum += (image[static_cast<std::size_t>(at)] - zero_point) *
                         (codes[static_cast<std::size_t>(code)] - zeros[column]);
                }
            out.push_back(static_cast<float>(sum) * (0.5F * scales[column]) + bias[column]);
          }
    return out;
  }
};

TEST_P(ByteConvTest, EqualsPlainLoops) {
  ThreadPool pool(2);
  for (std::size_t i = 0; i < shapes().size(); i++) {
    const ConvShape& s = shapes()[i];
    ASSERT_TRUE(byte_conv_supports(s)) << i;
    const Layer layer(s);
    const std::vector<float> packed = layer.packed(s, pool), expected = layer.expected(s);
    std::vector<float> floats, scratch(static_cast<std::size_t>(byte_conv_scratch_size(s)));
    std::vector<std::uint8_t> signed_bytes;
    for (const std::uint8_t byte : layer.image) {
      floats.push_back(0.5F * static_cast<float>(byte - zero_point));
      signed_bytes.push_back(static_cast<std::uint8_t>(byte - 128));
    }
    const ByteConv from_floats{.in = floats.data()}, from_bytes{.in_bytes = layer.image.data()},
        from_signed{.in_bytes = signed_bytes.data(), .in_is_signed = true};
    int form = 0;
    for (ByteConv run : {from_floats, from_bytes, from_signed}) {
      run.in_stride = s.Cin;
      run.in_scale = 0.5F;
      run.least = -zero_point;
      run.packed = packed.data();
      run.out_stride = s.Cout;
      run.epilogue.bias = layer.bias.data();
      std::vector<float> out(expected.size());
      run.out = out.data();
      byte_conv(s, run, scratch.data(), pool);
      for (std::size_t k = 0; k < out.size(); k++)
        ASSERT_EQ(out[k], expected[k]) << "shape " << i << ", form " << form << ", element " << k;

      Sink sink{std::vector<float>(expected.size()), s.Cout};
      run.out = nullptr;
      run.epilogue.hook = write_to_sink;
      run.epilogue.context = &sink;
      byte_conv(s, run, scratch.data(), pool);
      for (std::size_t k = 0; k < out.size(); k++)
        ASSERT_EQ(sink.result[k], expected[k]) << "shape " << i << ", form " << form << ", element " << k;
      form++;
    }
  }
}

// On one thread they are padded strip by strip.
TEST_P(ByteConvTest, LargeImagesAreTheSameOnOneThreadAndOnSeveral) {
  const ConvShape s{.N = 2, .Cin = 20, .Cout = 5, .h = axis(262, 3, 2, 1), .w = axis(230, 3, 1, 1)};
  ThreadPool alone(1), several(2);
  const Layer layer(s);
  const std::vector<float> packed = layer.packed(s, alone);
  std::vector<float> scratch(static_cast<std::size_t>(byte_conv_scratch_size(s)));
  const auto result = [&](ThreadPool& pool) {
    std::vector<float> out(static_cast<std::size_t>(s.N * s.out_pixels() * s.Cout));
    byte_conv(s,
              {.in_bytes = layer.image.data(),
               .in_stride = s.Cin,
               .least = -zero_point,
               .packed = packed.data(),
               .out = out.data(),
               .out_stride = s.Cout,
               .epilogue = {.bias = layer.bias.data()}},
              scratch.data(), pool);
    return out;
  };
  ASSERT_EQ(result(alone), result(several));
}

// Of channels-last bytes, one plane a channel.
std::vector<std::uint8_t> in_planes(const ConvShape& s, const std::vector<std::uint8_t>& image) {
  std::vector<std::uint8_t> planes;
  const long pixels = s.in_pixels();
  for (long n = 0; n < s.N; n++)
    for (long c = 0; c < s.Cin; c++)
      for (long i = 0; i < pixels; i++)
        planes.push_back(image[static_cast<std::size_t>((n * pixels + i) * s.Cin + c)]);
  return planes;
}

TEST_P(ByteConvTest, ReadsPlanes) {
  ThreadPool pool(2);
  for (const long channels : {1L, 2L, 3L, 4L}) {
    const ConvShape s{.N = 2, .Cin = channels, .Cout = 17, .h = axis(11, 3, 2, 1), .w = axis(37, 3, 2, 1)};
    const Layer layer(s);
    const std::vector<float> packed = layer.packed(s, pool), expected = layer.expected(s);
    for (const bool is_signed : {false, true}) {
      std::vector<std::uint8_t> planes = in_planes(s, layer.image);
      for (std::uint8_t& byte : planes) byte = static_cast<std::uint8_t>(byte - (is_signed ? 128 : 0));
      std::vector<float> out(expected.size()), scratch(static_cast<std::size_t>(byte_conv_scratch_size(s)));
      byte_conv(s,
                {.in_bytes = planes.data(),
                 .in_is_signed = is_signed,
                 .in_stride = 1,
                 .in_plane = s.in_pixels(),
                 .in_scale = 0.5F,
                 .least = -zero_point,
                 .packed = packed.data(),
                 .out = out.data(),
                 .out_stride = s.Cout,
                 .epilogue = {.bias = layer.bias.data()}},
                scratch.data(), pool);
      EXPECT_EQ(out, expected) << channels;
    }
  }
}

// What a hook does that writes codes, and kernels in its place.
struct CodesSink {
  CodedRows how;
  CodesOfSums codes;
  mutable std::atomic<long> calls{0};
};
void write_codes(const void* context, float* tile, long stride, long row0, long rows, long col0, long cols) {
  const auto& sink = *static_cast<const CodesSink*>(context);
  ++sink.calls;
  const long first = row0 * sink.codes.stride + col0;
  finish_coded(sink.how, {.sums = tile,
                          .sums_stride = stride,
                          .residual = sink.codes.residual ? sink.codes.residual->from + first : nullptr,
                          .residual_stride = sink.codes.stride,
                          .codes = sink.codes.to + first,
                          .codes_stride = sink.codes.stride,
                          .rows = rows,
                          .cols = cols});
}

// Codes at once, and codes that are made of what others stand for, with a residual or without one, or that a
// table gives for these.
std::vector<CodedRows> rows_of_codes(const Quantise& how) {
  constexpr auto codes = CodedRows::Result::codes;
  const Activation clamp{Activation::Kind::clamp, -900, 960.5F}, hardswish{Activation::Kind::hardswish};
  // Bounds that no code reaches.
  const Activation above{Activation::Kind::clamp, 1e9F, 2e9F}, below{Activation::Kind::clamp, -2e9F, -1e9F};
  std::vector<CodedRows> all;
  for (const Activation& activation : {Activation::none, Activation::relu, clamp, above, below})
    all.push_back({.activation = activation, .result = codes, .last = how});
  const Dequantise meaning{.scale = how.scale * 0.9F, .zero = how.zero - 2};
  for (const bool is_signed : {false, true}) {
    Quantise first{.scale = 51, .zero = is_signed ? 5.0F : 120.0F};
    if (is_signed) first.low = -128, first.high = 127;
    for (const Activation& activation : {Activation::none, clamp, hardswish})
      all.push_back({.rounds = true,
                     .first = first,
                     .of_first = meaning,
                     .activation = activation,
                     .result = codes,
                     .last = how});
    for (const Activation& activation : {Activation::none, Activation::relu, clamp})
      all.push_back({.rounds = true,
                     .first = first,
                     .of_first = meaning,
                     .adds = true,
                     .residual_type = is_signed ? DType::i8 : DType::u8,
                     .of_residual = {.scale = 27.3F, .zero = is_signed ? -9.0F : 131.0F},
                     .activation = activation,
                     .result = codes,
                     .last = how});
    CodedRows by_table{.first = first, .result = codes, .by_table = true};
    for (std::size_t i = 0; i < by_table.table.size(); i++)
      by_table.table[i] = static_cast<std::uint8_t>(i * 37 + 11);
    all.push_back(by_table);
  }
  return all;
}

TEST_P(ByteConvTest, WritesCodes) {
  ThreadPool pool(2);
  const Quantise wide{.scale = 43.7F, .zero = 101},
      is_signed{.scale = 37, .multiplies = false, .zero = -3, .low = -128, .high = 127},
      narrow{.scale = 0.021F, .multiplies = true, .zero = 128, .low = 3, .high = 254};
  long by_hook = 0, in_registers = 0, with_residual = 0;
  constexpr std::uint8_t untouched = 55;
  for (std::size_t i = 0; i < shapes().size(); i++) {
    const ConvShape& s = shapes()[i];
    const Layer layer(s);
    const std::vector<float> packed = layer.packed(s, pool), expected = layer.expected(s);
    std::vector<float> scratch(static_cast<std::size_t>(byte_conv_scratch_size(s))), sums(expected.size());
    for (const Quantise& how : {wide, is_signed, narrow})
      for (const CodedRows& rows : rows_of_codes(how)) {
        CodesSink sink{.how = rows, .codes = *CodesOfSums::of(rows)};
        sink.codes.stride = s.Cout + 5;
        std::vector<std::uint8_t> out(static_cast<std::size_t>(s.N * s.out_pixels() * sink.codes.stride),
                                      untouched),
            wanted = out, residual = out;
        for (std::size_t k = 0; k < residual.size(); k++)
          residual[k] = static_cast<std::uint8_t>(k * 89 % 251);
        if (sink.codes.residual) sink.codes.residual->from = residual.data();
        sink.codes.to = wanted.data();
        sums = expected;
        write_codes(&sink, sums.data(), s.Cout, 0, s.N * s.out_pixels(), 0, s.Cout);
        sink.codes.to = out.data();
        sink.calls = 0;
        byte_conv(s,
                  {.in_bytes = layer.image.data(),
                   .in_stride = s.Cin,
                   .in_scale = 0.5F,
                   .least = -zero_point,
                   .packed = packed.data(),
                   .out_stride = s.Cout,
                   .epilogue = {.bias = layer.bias.data(),
                                .hook = write_codes,
                                .context = &sink,
                                .hook_takes_tiles = true,
                                .codes = &sink.codes}},
                  scratch.data(), pool);
        ASSERT_EQ(out, wanted) << "shape " << i;
        ++(sink.calls == 0 ? in_registers : by_hook);
        if (sink.calls == 0 && sink.codes.residual) ++with_residual;
      }
  }
  EXPECT_EQ(in_registers > 0, runs_dot_of_bytes() || row_gemm_splits_bytes()) << by_hook;
  EXPECT_EQ(with_residual > 0, in_registers > 0);
}

TEST_P(ByteConvTest, PaysWhereNoWayInFloat32IsFaster) {
  const ConvAxis one = axis(28, 1), three = axis(28, 3, 1, 1);
  const bool always = runs_dot_of_bytes(), deep = always || row_gemm_splits_bytes();
  EXPECT_EQ(byte_conv_pays({.Cin = 256, .Cout = 64, .h = one, .w = one}), deep);
  EXPECT_EQ(byte_conv_pays({.Cin = 64, .Cout = 256, .h = one, .w = one}), deep);
  EXPECT_EQ(byte_conv_pays({.Cin = 128, .Cout = 128, .h = three, .w = three}), always) << "Winograd";
  for (const long groups : {16, 32})
    EXPECT_EQ(byte_conv_pays({.Cin = 128, .Cout = 128, .h = three, .w = three, .groups = groups}), always)
        << groups << " narrow groups";
}

TEST(ByteConv, TakesNoGroupsThatCutWordsOfFourChannelsAndNoSumsThatAreTooDeep) {
  const ConvAxis one = axis(4, 1);
  EXPECT_FALSE(byte_conv_supports({.Cin = 12, .Cout = 12, .h = one, .w = one, .groups = 6}));
  EXPECT_FALSE(byte_conv_supports({.Cin = 4096, .Cout = 8, .h = axis(5, 3), .w = axis(5, 3)}));
  EXPECT_FALSE(byte_conv_supports({.Cin = 8, .Cout = 8, .h = one, .w = one, .d = axis(3, 3)}));
  EXPECT_FALSE(
      byte_conv_supports({.Cin = 8, .Cout = 8, .h = one, .w = one, .groups = 2, .transposed = true}));
}

TEST(ByteConv, TakesNoTransposedOnesThatSkipOutputsOrCutTheImage) {
  const ConvAxis apart = axis(4, 2, 3), cut = axis(4, 2, 1, 2);
  EXPECT_FALSE(byte_conv_supports({.Cin = 8, .Cout = 8, .h = apart, .w = apart, .transposed = true}));
  EXPECT_FALSE(byte_conv_supports({.Cin = 8, .Cout = 8, .h = cut, .w = cut, .transposed = true}));
}

}  // namespace
}  // namespace tenon::cpu
