// Schedules: their text, and that no setting of any knob changes what kernels compute.
#include "kernels/schedule.h"

#include <cstring>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/byte_conv.h"
#include "kernels/cpu/byte_depthwise.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/integer_depthwise.h"
#include "kernels/cpu/integer_gemm.h"
#include "kernels/cpu/quantized_gemm.h"
#include "kernels/cpu/row_gemm.h"
#include "tests/kernels/conv_axis.h"
#include "tests/kernels/every_isa.h"
#include "tests/kernels/numbers.h"

namespace tenon::cpu {
namespace {

// Every setting alone, and every two of different knobs.
std::vector<Schedule> schedules_of(const Knobs& knobs) {
  constexpr int threads = 2;
  const std::vector<Schedule> alone = knobs.settings(threads);
  std::vector<Schedule> all = alone;
  for (std::size_t i = 0; i < alone.size(); ++i)
    for (std::size_t k = i + 1; k < alone.size(); ++k)
      if (const Schedule both = alone[i].with(alone[k]); both != alone[k]) all.push_back(both);
  return all;
}

constexpr Knobs all_knobs{
    .threads = true, .split = true, .pieces = true, .block = true, .outer = true, .tile = true};

TEST(Schedule, IsWrittenAndReadAsItsSettings) {
  EXPECT_EQ(Schedule{}.str(), "");
  EXPECT_EQ((Schedule{.split = Schedule::Split::columns, .block = Schedule::Block::half}.str()),
            "split=columns,block=half");
  for (const Schedule& s : schedules_of(all_knobs)) EXPECT_EQ(Schedule::parse(s.str()), s) << s.str();
  for (const char* other : {"split", "split=", "split=rule", "split=row", "splits=rows", "split=rows,",
                            "block=half,split=rows", "split=rows,split=rows", "rows"})
    EXPECT_EQ(Schedule::parse(other), std::nullopt) << other;
}

TEST(Schedule, OneThreadHasNothingToShare) {
  for (const Schedule& s : all_knobs.settings(1)) {
    EXPECT_EQ(s.threads, Schedule::Team::rule);
    EXPECT_EQ(s.split, Schedule::Split::rule);
    EXPECT_EQ(s.pieces, Schedule::Pieces::rule);
  }
  EXPECT_LT(all_knobs.settings(1).size(), all_knobs.settings(2).size());
}

TEST(Schedule, AKernelHasTheKnobsThatItSays) {
  const Knobs knobs{.block = true};
  EXPECT_TRUE(knobs.have({}));
  EXPECT_TRUE(knobs.have({.block = Schedule::Block::twice}));
  EXPECT_FALSE(knobs.have({.block = Schedule::Block::twice, .outer = Schedule::Outer::rows}));
  EXPECT_TRUE((knobs | Knobs{.outer = true}).have({.outer = Schedule::Outer::rows}));
}

class ScheduleTest : public OnEveryIsa {};
TENON_EVERY_ISA(ScheduleTest);

// Computes with each schedule and so many threads; the bits are those of the kernel's own rule.
template <class Compute>
void expect_same_bits(const Knobs& knobs, Compute compute) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool pool(threads);
    const Numbers expected = compute(Schedule{}, pool);
    for (const Schedule& s : schedules_of(knobs)) {
      const Numbers got = compute(s, pool);
      ASSERT_EQ(
          std::memcmp(got.data(), expected.data(), static_cast<std::size_t>(got.size()) * sizeof(float)), 0)
          << s.str() << " on " << threads;
    }
  }
}

TEST_P(ScheduleTest, ProductsHaveTheSameBits) {
  struct Row {
    long M, N, K;
  };
  // Fewer and more than a tile; deeper than a block of k; wider than L2; one row, one column, one of each.
  for (const Row& s : {Row{1, 1, 1},
                       {1, 700, 33},
                       {700, 1, 33},
                       {13, 65, 5000},
                       {29, 33, 65},
                       {263, 97, 300},
                       {61, 1025, 600}}) {
    SCOPED_TRACE(testing::Message() << s.M << "x" << s.N << "x" << s.K);
    const Numbers a = random_numbers(s.M * s.K, 1), b = random_numbers(s.K * s.N, 2);
    const Numbers bias = random_numbers(s.N, 3), residual = random_numbers(s.M * s.N, 4);
    for (const bool is_packed : {true, false}) {
      expect_same_bits(row_gemm_knobs, [&](const Schedule& schedule, ThreadPool& pool) {
        Numbers c(s.M * s.N, untouched), packed(packed_b_size(s.K, s.N));
        Gemm g{.M = s.M,
               .N = s.N,
               .K = s.K,
               .a = a.data(),
               .a_stride = s.K,
               .b = {b.data(), s.N, 1},
               .c = c.data(),
               .c_stride = s.N,
               .epilogue = {.bias = bias.data(), .residual = residual.data(), .residual_stride = s.N},
               .schedule = schedule};
        if (is_packed) {
          pack_b(s.K, s.N, g.b, packed.data(), pool);
          g.packed_b = packed.data();
        }
        Numbers scratch(gemm_scratch_size(g, pool.threads()));
        gemm(g, scratch.data(), pool);
        return c;
      });
    }
  }
}

TEST_P(ScheduleTest, ConvolutionsHaveTheSameBits) {
  const ConvAxis three{.in = 13, .kernel = 3, .pad_before = 1, .pad_after = 1};
  ConvAxis strided = three, dilated = three, wide = three;
  strided.stride = 2;
  dilated.dilation = 4;
  dilated.pad_before = dilated.pad_after = 4;
  wide.in = 40;
  for (const ConvShape& s :
       {ConvShape{.N = 2, .Cin = 16, .Cout = 33, .h = three, .w = three},
        ConvShape{.N = 1, .Cin = 17, .Cout = 64, .h = wide, .w = three},
        ConvShape{.N = 1, .Cin = 3, .Cout = 5, .h = strided, .w = strided},
        ConvShape{.N = 1, .Cin = 16, .Cout = 32, .h = dilated, .w = dilated},
        ConvShape{.N = 3, .Cin = 24, .Cout = 24, .h = three, .w = strided, .groups = 24},
        ConvShape{.N = 1, .Cin = 8, .Cout = 6, .h = strided, .w = three, .transposed = true}}) {
    const Numbers in = random_numbers(s.N * s.in_pixels() * s.Cin, 1);
    const Numbers weights = random_numbers(s.Cin * s.Cout / s.groups * s.taps(), 2);
    for (const ConvAlgorithm a : conv_algorithms) {
      if (!conv_supports(s, a)) continue;
      SCOPED_TRACE(testing::Message() << name(a) << " " << s.Cin << " to " << s.Cout);
      expect_same_bits(conv_knobs(a), [&](const Schedule& schedule, ThreadPool& pool) {
        Numbers packed(conv_packed_size(s, a)), out(s.N * s.out_pixels() * s.Cout, untouched);
        Numbers scratch(conv_scratch_size(s, a, pool.threads(), schedule));
        pack_conv(packing_shape(s), a, weights.data(), packed.data(), pool);
        conv(s, a,
             {.in = in.data(),
              .in_stride = s.Cin,
              .packed = packed.data(),
              .weights = weights.data(),
              .out = out.data(),
              .out_stride = s.Cout,
              .scratch = scratch.data(),
              .schedule = schedule},
             pool);
        return out;
      });
    }
  }
}

TEST_P(ScheduleTest, AttentionHasTheSameBits) {
  for (const long queries : {1, 17, 230, 460}) {
    constexpr long heads = 3, size = 20;
    const long floats = heads * queries * size;
    const Numbers q = random_numbers(floats, 1), k = random_numbers(floats, 2), v = random_numbers(floats, 3);
    const HeadStrides strides{.batch = floats, .head = queries * size, .row = size};
    expect_same_bits(attention_knobs, [&](const Schedule& schedule, ThreadPool& pool) {
      Numbers out(floats, untouched);
      Attention call;
      call.batch = 1;
      call.heads = call.kv_heads = heads;
      call.queries = call.keys = queries;
      call.size = call.value_size = size;
      call.scale = 0.3f;
      call.q = q.data(), call.k = k.data(), call.v = v.data(), call.out = out.data();
      call.q_strides = call.k_strides = call.v_strides = call.out_strides = strides;
      call.schedule = schedule;
      const std::size_t bytes = attention_scratch_bytes(call, pool.threads());
      std::vector<std::byte> scratch(bytes + 64);
      void* aligned = scratch.data();
      std::size_t space = scratch.size();
      attention(call, std::align(64, bytes, aligned, space), pool);
      return out;
    });
  }
}

// A [K, N] matrix of codes, and what they stand for.
struct Codes {
  Codes(long K, long N) : scales(static_cast<std::size_t>(N), 0.25F), zeros(static_cast<std::size_t>(N)) {
    for (long i = 0; i < K * N; i++) codes.push_back(static_cast<std::int8_t>(i * 37 % 100 - 50));
    for (long k = 0; k < K; k++) rows.push_back(k * N);
    for (long n = 0; n < N; n++) columns.push_back(n);
    for (long n = 0; n < N; n++) zeros[static_cast<std::size_t>(n)] = static_cast<std::int16_t>(n % 7 - 3);
  }
  QuantizedB view() const {
    return {codes.data(), DType::i8, rows.data(), columns.data(), scales.data(), zeros.data()};
  }
  std::vector<std::int8_t> codes;
  std::vector<std::int64_t> rows, columns;
  std::vector<float> scales;
  std::vector<std::int16_t> zeros;
};

// Whole numbers from -77 to 178.
Numbers whole_numbers(long count) {
  Numbers numbers(count);
  for (long i = 0; i < count; i++) numbers[i] = static_cast<float>((i * 157 + i / 7) % 256 - 77);
  return numbers;
}

TEST_P(ScheduleTest, ProductsByCodesHaveTheSameBits) {
  struct Row {
    long M, N, K, group;
  };
  for (const Row& s :
       {Row{1, 1, 1, 1}, {2, 700, 64, 32}, {4, 33, 96, 96}, {61, 97, 300, 300}, {29, 1025, 640, 64}}) {
    SCOPED_TRACE(testing::Message() << s.M << "x" << s.N << "x" << s.K);
    Codes b(s.K, s.N);
    b.scales.resize(static_cast<std::size_t>(s.N * (s.K / s.group)), 0.5F);
    b.zeros.resize(b.scales.size(), 2);
    const auto form = *QuantizedForm::of(s.K, s.group, {-50, 49, -3, 3});
    const Numbers a = random_numbers(s.M * s.K, 1), bias = random_numbers(s.N, 2);
    QuantizedGemm g{.M = s.M, .N = s.N, .form = form.panels, .a = a.data(), .a_stride = s.K};
    expect_same_bits(quantized_gemm_knobs(g), [&](const Schedule& schedule, ThreadPool& pool) {
      std::vector<std::byte> packed(static_cast<std::size_t>(quantized_bytes(form.panels, s.N)));
      pack_quantized(form, s.N, b.view(), packed.data(), pool);
      Numbers c(s.M * s.N, untouched);
      g.packed_b = packed.data();
      g.c = c.data();
      g.c_stride = s.N;
      g.epilogue.bias = bias.data();
      g.schedule = schedule;
      Numbers scratch(quantized_gemm_scratch_size(g, pool.threads()));
      quantized_gemm(g, scratch.data(), pool);
      return c;
    });
  }
}

TEST_P(ScheduleTest, ProductsOfIntegersHaveTheSameBits) {
  struct Row {
    long M, N, K;
  };
  for (const Row& s : {Row{1, 1, 1}, {1, 700, 33}, {61, 97, 333}, {263, 65, 40}}) {
    const Codes b(s.K, s.N);
    const Numbers a = whole_numbers(s.M * s.K), bias = random_numbers(s.N, 2);
    expect_same_bits(row_gemm_knobs, [&](const Schedule& schedule, ThreadPool& pool) {
      Numbers c(s.M * s.N, untouched), packed(packed_integers_size(s.K, s.N));
      Numbers scratch(integer_scratch_size(s.M, s.N, s.K));
      pack_integers(s.K, s.N, b.view(), packed.data(), pool);
      grid_gemm({.M = s.M,
                 .N = s.N,
                 .K = s.K,
                 .a = a.data(),
                 .a_stride = s.K,
                 .least = -77,
                 .packed_b = packed.data(),
                 .c = c.data(),
                 .c_stride = s.N,
                 .epilogue = {.bias = bias.data()},
                 .schedule = schedule},
                scratch.data(), pool);
      return c;
    });
  }
}

TEST_P(ScheduleTest, ConvolutionsOfBytesHaveTheSameBits) {
  for (const ConvShape& s :
       {ConvShape{.N = 2, .Cin = 16, .Cout = 33, .h = axis(13, 3, 1, 1), .w = axis(13, 3, 1, 1)},
        ConvShape{.N = 1, .Cin = 64, .Cout = 150, .h = axis(9, 1), .w = axis(40, 1)},
        ConvShape{.N = 1, .Cin = 3, .Cout = 5, .h = axis(13, 3, 2, 1), .w = axis(13, 3, 2, 1)},
        ConvShape{.N = 1, .Cin = 8, .Cout = 8, .h = axis(9, 3, 1, 1), .w = axis(9, 3), .groups = 2},
        ConvShape{.N = 1, .Cin = 8, .Cout = 6, .h = axis(7, 2, 2), .w = axis(5, 2, 2), .transposed = true}}) {
    SCOPED_TRACE(testing::Message() << s.Cin << " to " << s.Cout);
    const Codes b(s.Cin / s.groups * s.taps(), s.Cout);
    const Numbers in = whole_numbers(s.N * s.in_pixels() * s.Cin), bias = random_numbers(s.Cout, 2);
    expect_same_bits(row_gemm_knobs, [&](const Schedule& schedule, ThreadPool& pool) {
      Numbers out(s.N * s.out_pixels() * s.Cout, untouched), packed(byte_conv_packed_size(s));
      Numbers scratch(byte_conv_scratch_size(s));
      pack_byte_conv(s, b.view(), packed.data(), pool);
      byte_conv(s,
                {.in = in.data(),
                 .in_stride = s.Cin,
                 .least = -77,
                 .packed = packed.data(),
                 .out = out.data(),
                 .out_stride = s.Cout,
                 .epilogue = {.bias = bias.data(), .activation = Activation::relu},
                 .schedule = schedule},
                scratch.data(), pool);
      return out;
    });
  }
}

TEST_P(ScheduleTest, DepthwiseConvolutionsOfBytesHaveTheSameBits) {
  for (const ConvShape& s : {depthwise_of(2, 70, axis(9, 3, 1, 1), axis(17, 3, 1, 1)),
                             depthwise_of(1, 32, axis(70, 3, 2, 1), axis(112, 3, 2, 1)),
                             depthwise_of(3, 24, {}, axis(31, 7, 1, 3))}) {
    SCOPED_TRACE(s.Cin);
    const Codes b(s.taps(), s.Cin);
    const Numbers filters = random_numbers(s.Cin * s.taps(), 1), bias = random_numbers(s.Cout, 2);
    std::vector<std::uint8_t> in;
    for (long i = 0; i < s.N * s.in_pixels() * s.Cin; i++) in.push_back(static_cast<std::uint8_t>(i * 157));
    expect_same_bits(byte_depthwise_knobs, [&](const Schedule& schedule, ThreadPool& pool) {
      Numbers out(s.N * s.out_pixels() * s.Cout, untouched), packed(byte_depthwise_packed_size(s));
      Numbers scratch(byte_depthwise_scratch_size(s, pool.threads(), schedule));
      pack_byte_depthwise(s, filters.data(), packed.data());
      byte_depthwise(s,
                     {.in = in.data(),
                      .in_stride = s.Cin,
                      .zero = 77,
                      .filters_are_finite = true,
                      .packed = packed.data(),
                      .out = out.data(),
                      .out_stride = s.Cout,
                      .epilogue = {.bias = bias.data()},
                      .schedule = schedule},
                     scratch.data(), pool);
      return out;
    });
    if (!integer_depthwise_supports(s)) continue;
    expect_same_bits(integer_depthwise_knobs, [&](const Schedule& schedule, ThreadPool& pool) {
      Numbers out(s.N * s.out_pixels() * s.Cout, untouched), packed(integer_depthwise_packed_size(s));
      std::vector<std::uint8_t> scratch(
          static_cast<std::size_t>(integer_depthwise_scratch_size(s, pool.threads(), schedule)));
      pack_integer_depthwise(s, b.view(), {.zero = 77}, packed.data());
      integer_depthwise(s,
                        {.in = in.data(),
                         .in_stride = s.Cin,
                         .zero = 77,
                         .packed = packed.data(),
                         .out = out.data(),
                         .out_stride = s.Cout,
                         .epilogue = {.bias = bias.data()},
                         .schedule = schedule},
                        scratch.data(), pool);
      return out;
    });
  }
}

}  // namespace
}  // namespace tenon::cpu
