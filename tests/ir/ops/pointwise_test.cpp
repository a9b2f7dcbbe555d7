// Pointwise operators where definitions differ between frameworks: NaN, signed zero, ties, integers. The
// expected values are PyTorch's (CPU).
#include "tests/ir/ops/cases.h"

namespace tenon::test {
namespace {

TEST(Pointwise, PropagatesNanAsPyTorch) {
  expect_all({
      {"maximum(%0, %1)", {"f32[3] nan 1 2", "f32[3] 1 nan 3"}, {"f32[3] nan nan 3"}},
      {"minimum(%0, %1)", {"f32[3] nan 1 2", "f32[3] 1 nan 3"}, {"f32[3] nan nan 2"}},
      {"fmax(%0, %1)", {"f32[3] nan 1 2", "f32[3] 1 nan 3"}, {"f32[3] 1 1 3"}},
      {"clamp(%0, min=0.0, max=1.0)", {"f32[4] nan -1 0.5 inf"}, {"f32[4] nan 0 0.5 1"}},
      {"relu(%0)", {"f32[2] nan -1"}, {"f32[2] nan 0"}},
      {"softshrink(%0)", {"f32[4] nan 0.2 1 -1"}, {"f32[4] nan 0 0.5 -0.5"}},
      {"hardshrink(%0)", {"f32[4] nan 0.2 1 -1"}, {"f32[4] nan 0 1 -1"}},
      {"sign(%0)", {"f32[3] nan -2 0"}, {"f32[3] 0 -1 0"}},
  });
}

TEST(Pointwise, RoundsAndDividesAsPyTorch) {
  expect_all({
      {"round(%0)", {"f32[4] 0.5 1.5 2.5 -0.5"}, {"f32[4] 0 2 2 -0"}},
      {"floor_div(%0, %1)", {"f32[3] 7 -7 7", "f32[3] 2 2 -2"}, {"f32[3] 3 -4 -4"}},
      {"floor_div(%0, %1)", {"i64[3] 7 -7 7", "i64[3] 2 2 -2"}, {"i64[3] 3 -4 -4"}},
      {"trunc_div(%0, %1)", {"i32[2] 7 -7", "i32[2] 2 2"}, {"i32[2] 3 -3"}},
      {"remainder(%0, %1)", {"f32[3] 7 -7 7", "f32[3] 3 3 -3"}, {"f32[3] 1 2 -2"}},
      {"fmod(%0, %1)", {"f32[3] 7 -7 7", "f32[3] 3 3 -3"}, {"f32[3] 1 -1 1"}},
      {"pow(%0, %1)", {"i64[3] 2 -3 7", "i64[3] 10 3 0"}, {"i64[3] 1024 -27 1"}},
  });
}

TEST(Pointwise, ComputesIntegersInTheirOwnWidth) {
  expect_all({
      {"add(%0, %1)", {"i8[2] 100 -100", "i8[2] 100 -100"}, {"i8[2] -56 56"}},
      {"neg(%0)", {"u8[2] 1 0"}, {"u8[2] 255 0"}},
      {"bit_not(%0)", {"u8[2] 0 250"}, {"u8[2] 255 5"}},
      {"bit_not(%0)", {"bool[2] 1 0"}, {"bool[2] 0 1"}},
      {"add(%0, %1)", {"bool[3] 0 1 1", "bool[3] 0 0 1"}, {"bool[3] 0 1 1"}},
      {"shift_right(%0, %1)", {"i32[2] -8 8", "i32[2] 1 2"}, {"i32[2] -4 2"}},
  });
}

TEST(Pointwise, ConvertsBetweenDtypesAsPyTorch) {
  expect_all({
      {"cast(%0, to=i32)", {"f32[4] 1.9 -1.9 nan inf"}, {"i32[4] 1 -1 -2147483648 -2147483648"}},
      {"cast(%0, to=bool)", {"f32[3] 0 -0.1 nan"}, {"bool[3] 0 1 1"}},
      {"cast(%0, to=u8)", {"i64[2] 257 -1"}, {"u8[2] 1 255"}},
      {"cast(%0, to=f16)", {"f32[2] 2049 1e6"}, {"f16[2] 2048 inf"}},
  });
}

TEST(Pointwise, ActivationsFollowTheirFormulas) {
  expect_all({
      {"elu(%0, alpha=2.0)", {"f32[2] 1 -1"}, {"f32[2] 1 -1.2642411"}},
      {"celu(%0, alpha=2.0)", {"f32[2] 1 -1"}, {"f32[2] 1 -0.7869387"}},
      {"selu(%0)", {"f32[2] 1 -1"}, {"f32[2] 1.0507010 -1.1113307"}},
      {"gelu(%0)", {"f32[2] 1 -1"}, {"f32[2] 0.8413447 -0.1586553"}},
      {"gelu(%0, approximate=\"tanh\")", {"f32[2] 1 -1"}, {"f32[2] 0.8411920 -0.1588080"}},
      {"mish(%0)", {"f32[3] 1 -1 100"}, {"f32[3] 0.8650984 -0.3034015 100"}},
      {"softplus(%0)", {"f32[3] 1 -1 25"}, {"f32[3] 1.3132617 0.3132617 25"}},
      {"hardswish(%0)", {"f32[4] -4 -1 1 4"}, {"f32[4] 0 -0.3333333 0.6666667 4"}},
      {"hardsigmoid(%0)", {"f32[3] -4 0 4"}, {"f32[3] 0 0.5 1"}},
      {"log_sigmoid(%0)", {"f32[3] 0 100 -100"}, {"f32[3] -0.6931472 0 -100"}},
      {"softsign(%0)", {"f32[2] 3 -1"}, {"f32[2] 0.75 -0.5"}},
      {"threshold(%0, threshold=0.5, value=9.0)", {"f32[2] 0.5 0.6"}, {"f32[2] 9 0.6"}},
      {"prelu(%0, %1)", {"f32[2,2] 1 -1 -2 2", "f32[2,1] 0.5 0.25"}, {"f32[2,2] 1 -0.5 -0.5 2"}},
      {"erfinv(%0)", {"f32[3] 0.5 -1 0"}, {"f32[3] 0.4769363 -inf 0"}},
      {"ldexp(%0, %1)", {"f32[2] 3 1", "f32[2] 2 -1"}, {"f32[2] 12 0.5"}},
  });
}

TEST(Pointwise, BroadcastsOverAllBlocks) {
  // More elements than a block holds, from operands with strides 0 and 1.
  Tensor a = Tensor::empty(DType::f32, {3, 700}), b = Tensor::empty(DType::f32, {3, 1});
  for_each_index(a.shape(), [&](std::span<const std::int64_t> i) {
    a.set_double(i, static_cast<double>(i[0] + 2 * i[1]));
  });
  for_each_index(b.shape(),
                 [&](std::span<const std::int64_t> i) { b.set_double(i, static_cast<double>(100 * i[0])); });
  const auto sum =
      evaluate(*graph_of("add(%0, %1)", {"f32[3,700]", "f32[3,1]"}, {"f32[3,700]"}), std::vector{a, b});
  for_each_index(a.shape(), [&](std::span<const std::int64_t> i) {
    ASSERT_EQ(sum[0].get_int(i), 101 * i[0] + 2 * i[1]);
  });
  const auto transposed = evaluate(*graph_of("relu(%0)", {"f32[700,3]"}, {"f32[700,3]"}),
                                   std::vector{a.permute(std::vector<std::int64_t>{1, 0})});
  for_each_index(a.shape(), [&](std::span<const std::int64_t> i) {
    const std::int64_t swapped[] = {i[1], i[0]};
    ASSERT_EQ(transposed[0].get_int(swapped), i[0] + 2 * i[1]);
  });
}

}  // namespace
}  // namespace tenon::test
