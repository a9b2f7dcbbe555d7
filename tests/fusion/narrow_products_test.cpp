// Products read and give 16-bit floats where that is asked for; what lies between them stays float32.
#include <cmath>

#include "ir/evaluate.h"
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

// In bfloat16, without the passes that group: what the pass itself writes.
std::string narrowed(const std::string& text, FuseOptions options = {}) {
  const auto original = graph_with_data(text);
  const auto graph = clone(*original);
  options.fuse = false;
  options.precision = Precision::bf16;
  fuse(*graph, options);
  expect_equal_results(*original, *graph, 0.02);
  return body_text(*graph);
}

TEST(NarrowProducts, ReadAndGive16Bits) {
  EXPECT_EQ(narrowed(R"(graph mlp(%x: f32[N,64]) {
  @up : f32[96,64]
  @bias : f32[96]
  @down : f32[64,96]
  %1 = linear(%x, @up, @bias) : f32[N,96]
  %2 = gelu(%1) : f32[N,96]
  %3 = linear(%2, @down) : f32[N,64]
  return %3
}
)"),
            R"(graph mlp(%x: f32[N,64]) {
  %1 = cast(%x, to=bf16) : bf16[N,64]
  %2 = linear(%1, @up.bf16, @bias.bf16) : bf16[N,96]
  %3 = cast(%2) : f32[N,96]
  %4 = gelu(%3) : f32[N,96]
  %5 = cast(%4, to=bf16) : bf16[N,96]
  %6 = linear(%5, @down.bf16) : bf16[N,64]
  %7 = cast(%6) : f32[N,64]
  return %7
}
)");
}

TEST(NarrowProducts, WhatMovesOrChoosesNumbersMoves16Bits) {
  EXPECT_EQ(narrowed(R"(graph net(%x: f32[N,8,8,8]) {
  @a : f32[8,8,1,1]
  @b : f32[4,128]
  %1 = conv(%x, @a) : f32[N,8,8,8]
  %2 = relu(%1) : f32[N,8,8,8]
  %3 = max_pool(%2, kernel=2, stride=2) : f32[N,8,4,4]
  %4 = reshape(%3, shape=[N,128]) : f32[N,128]
  %5 = linear(%4, @b) : f32[N,4]
  return %5
}
)"),
            R"(graph net(%x: f32[N,8,8,8]) {
  %1 = cast(%x, to=bf16) : bf16[N,8,8,8]
  %2 = conv(%1, @a.bf16) : bf16[N,8,8,8]
  %3 = relu(%2) : bf16[N,8,8,8]
  %4 = max_pool(%3, kernel=2, stride=2) : bf16[N,8,4,4]
  %5 = reshape(%4, shape=[N,128]) : bf16[N,128]
  %6 = linear(%5, @b.bf16) : bf16[N,4]
  %7 = cast(%6) : f32[N,4]
  return %7
}
)");
}

// The residual reads what the first product reads.
TEST(NarrowProducts, AValueIsHeldOnceForAllReaders) {
  EXPECT_EQ(narrowed(R"(graph block(%x: f32[N,64]) {
  @up : f32[64,64]
  @down : f32[64,64]
  %1 = tanh(%x) : f32[N,64]
  %2 = linear(%1, @up) : f32[N,64]
  %3 = add(%2, %1) : f32[N,64]
  return %3
}
)"),
            R"(graph block(%x: f32[N,64]) {
  %1 = tanh(%x) : f32[N,64]
  %2 = cast(%1, to=bf16) : bf16[N,64]
  %3 = cast(%2) : f32[N,64]
  %4 = linear(%2, @up.bf16) : bf16[N,64]
  %5 = cast(%4) : f32[N,64]
  %6 = add(%5, %3) : f32[N,64]
  return %6
}
)");
}

TEST(NarrowProducts, ThoseThatAreKeptStayFloat32) {
  const char* const two = R"(graph two(%x: f32[N,64]) {
  @a : f32[64,64]
  @b : f32[64,64]
  %1 = linear(%x, @a) : f32[N,64]
  %2 = tanh(%1) : f32[N,64]
  %3 = linear(%2, @b) : f32[N,64]
  return %3
}
)";
  EXPECT_EQ(narrowed(two, {.kept_products = {0}}), R"(graph two(%x: f32[N,64]) {
  %1 = linear(%x, @a) : f32[N,64]
  %2 = tanh(%1) : f32[N,64]
  %3 = cast(%2, to=bf16) : bf16[N,64]
  %4 = linear(%3, @b.bf16) : bf16[N,64]
  %5 = cast(%4) : f32[N,64]
  return %5
}
)");
  const auto graph = graph_with_data(two);
  EXPECT_EQ(fuse(*graph, {.precision = Precision::bf16, .kept_products = {0, 1}}).products, 2);
}

TEST(NarrowProducts, EpiloguesComputeInFloat32) {
  const auto graph = graph_with_data(R"(graph block(%x: f32[N,64], %y: f32[N,32]) {
  @up : f32[64,64]
  @other : f32[64,32]
  @down : f32[64,64]
  %1 = linear(%y, @other) : f32[N,64]
  %2 = linear(%x, @up) : f32[N,64]
  %3 = add(%2, %1) : f32[N,64]
  %4 = silu(%3) : f32[N,64]
  %5 = linear(%4, @down) : f32[N,64]
  return %5
}
)");
  fuse(*graph, {.precision = Precision::f16});
  EXPECT_EQ(body_text(*graph), R"(graph block(%x: f32[N,64], %y: f32[N,32]) {
  %1 = cast(%x, to=f16) : f16[N,64]
  %2 = cast(%y, to=f16) : f16[N,32]
  %3 = linear(%1, @up.f16) : f16[N,64]
  %4 = fused linear(%2, @other.f16) { %4.2 = cast; cast(%3); add(_, %4.2); silu; cast(_, to=f16) } : f16[N,64]
  %5 = fused linear(%4, @down.f16) { cast } : f32[N,64]
  return %5
}
)");
}

// A product writes float32 itself where no loop would: the cast and what follows it are no step. A loop reads
// half as much, and casts at no cost.
TEST(NarrowProducts, GiveFloat32WhereNoLoopReadsIt) {
  const auto graph = graph_with_data(R"(graph cell(%x: f32[N,64], %y: f32[N,64]) {
  @up : f32[64,64]
  @down : f32[64,64]
  %1 = linear(%x, @up) : f32[N,64]
  %2 = add(%1, %y) : f32[N,64]
  %3 = slice(%2, axis=1, start=0, end=32) : f32[N,32]
  %4 = tanh(%3) : f32[N,32]
  %5 = linear(%x, @down) : f32[N,64]
  %6 = softmax(%5, axis=1) : f32[N,64]
  return %4, %6
}
)");
  fuse(*graph, {.precision = Precision::bf16});
  EXPECT_EQ(body_text(*graph), R"(graph cell(%x: f32[N,64], %y: f32[N,64]) {
  %1 = cast(%x, to=bf16) : bf16[N,64]
  %2 = fused linear(%1, @up.bf16) { cast; add(_, %y) } : f32[N,64]
  %3 = slice(%2, axis=1, end=32) : f32[N,32]
  %4 = tanh(%3) : f32[N,32]
  %5 = linear(%1, @down.bf16) : bf16[N,64]
  %6 = fused { cast(%5); softmax(_, axis=1) } : f32[N,64]
  return %4, %6
}
)");
}

// A loop reads its part of 16 bits, of which a product reads another.
TEST(NarrowProducts, PartsAreCastWhereTheyAreRead) {
  EXPECT_EQ(narrowed(R"(graph heads(%x: f32[N,64]) {
  @w : f32[128,64]
  @v : f32[64,64]
  %1 = linear(%x, @w) : f32[N,128]
  %2 = slice(%1, axis=1, end=64) : f32[N,64]
  %3 = slice(%1, axis=1, start=64, end=128) : f32[N,64]
  %4 = linear(%2, @v) : f32[N,64]
  %5 = tanh(%3) : f32[N,64]
  return %4, %5
}
)"),
            R"(graph heads(%x: f32[N,64]) {
  %1 = cast(%x, to=bf16) : bf16[N,64]
  %2 = linear(%1, @w.bf16) : bf16[N,128]
  %3 = slice(%2, axis=1, end=64) : bf16[N,64]
  %4 = slice(%2, axis=1, start=64, end=128) : bf16[N,64]
  %5 = cast(%4) : f32[N,64]
  %6 = linear(%3, @v.bf16) : bf16[N,64]
  %7 = cast(%6) : f32[N,64]
  %8 = tanh(%5) : f32[N,64]
  return %7, %8
}
)");
}

// Of the keys that the model is given the products read a copy in 16 bits, to which the new ones are
// appended.
TEST(NarrowProducts, ACacheIsExtendedIn16Bits) {
  EXPECT_EQ(narrowed(R"(graph token(%x: f32[1,64], %cache: f32[2,N,64]) {
  @w : f32[128,64]
  %1 = linear(%x, @w) : f32[1,128]
  %2 = slice(%1, axis=1, end=64) : f32[1,64]
  %3 = slice(%1, axis=1, start=64, end=128) : f32[1,64]
  %4 = slice(%cache, axis=0, end=1) : f32[1,N,64]
  %5 = reshape(%4, shape=[N,64]) : f32[N,64]
  %6 = concat(%5, %3, axis=0) : f32[N + 1,64]
  %7 = permute(%6, axes=[1,0]) : f32[64,N + 1]
  %8 = matmul(%2, %7) : f32[1,N + 1]
  return %8, %6
}
)"),
            R"(graph token(%x: f32[1,64], %cache: f32[2,N,64]) {
  %1 = cast(%x, to=bf16) : bf16[1,64]
  %2 = linear(%1, @w.bf16) : bf16[1,128]
  %3 = slice(%2, axis=1, end=64) : bf16[1,64]
  %4 = slice(%2, axis=1, start=64, end=128) : bf16[1,64]
  %5 = slice(%cache, end=1) : f32[1,N,64]
  %6 = reshape(%5, shape=[N,64]) : f32[N,64]
  %7 = cast(%6, to=bf16) : bf16[N,64]
  %8 = concat(%7, %4) : bf16[N+1,64]
  %9 = permute(%8, axes=[1,0]) : bf16[64,N+1]
  %10 = matmul(%3, %9) : bf16[1,N+1]
  %11 = cast(%10) : f32[1,N+1]
  %12 = cast(%8) : f32[N+1,64]
  return %11, %12
}
)");
}

// Of numbers that float16 cannot hold, those that mean minus infinity stay finite. A row without others is
// another one than float32's, but no NaN.
TEST(NarrowProducts, MasksStayFinite) {
  const auto graph =
      graph_with_data(R"(graph g(%q: f32[1,2,4,8], %k: f32[1,2,4,8], %v: f32[1,2,4,8], %m: f32[4,4]) {
  %1 = attention(%q, %k, %v, %m, nan_rows=true) : f32[1,2,4,8]
  return %1
}
)");
  const auto narrow = clone(*graph);
  fuse(*narrow, {.precision = Precision::f16});
  std::vector<Tensor> inputs = input_values(*graph, {}, 7, {});
  for (std::int64_t key = 0; key < 4; ++key) {
    inputs[3].set_double(std::array<std::int64_t, 2>{0, key}, std::numeric_limits<float>::lowest());
    inputs[3].set_double(std::array<std::int64_t, 2>{1, key}, key == 2 ? 0 : -INFINITY);
  }
  const Tensor got = evaluate(*narrow, inputs)[0], expected = evaluate(*graph, inputs)[0];
  for_each_index(got.shape(), [&](std::span<const std::int64_t> at) {
    EXPECT_TRUE(std::isfinite(got.get_double(at)));
    if (at[2] == 0) return;  // all masked
    EXPECT_NEAR(got.get_double(at), expected.get_double(at), 0.01);
  });
}

TEST(NarrowProducts, WhatTheTypeCannotHoldStays) {
  const auto graph = graph_with_data(R"(graph g(%x: f32[N,64]) {
  @w : f32[64,64]
  %1 = linear(%x, @w) : f32[N,64]
  return %1
}
)");
  Tensor large = graph->weights()[0]->tensor().contiguous();
  large.set_double(std::array<std::int64_t, 2>{3, 5}, 1e5);
  graph->set_weight_data(graph->weights()[0].get(), large);
  const FuseReport report = fuse(*graph, {.precision = Precision::f16});
  ASSERT_FALSE(report.refusals.empty());
  EXPECT_EQ(report.refusals.front().reason, "@w has an element that f16 cannot hold");
}

}  // namespace
}  // namespace tenon::testing
