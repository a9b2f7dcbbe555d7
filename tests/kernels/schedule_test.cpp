// Schedules: their text, and that no setting of any knob changes what kernels compute.
#include "kernels/schedule.h"

#include <cstring>
#include <vector>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/conv.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row_gemm.h"
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

}  // namespace
}  // namespace tenon::cpu
