// Weights of 8- and 4-bit integers stay in these bits where a kernel of products reads them, however the
// graph spells what they stand for.
#include <fmt/core.h>

#include "ir/print.h"
#include "kernels/cpu/byte_conv.h"
#include "tests/runtime/codes.h"

namespace tenon::testing {
namespace {

// What runs it for each number of rows gives the reference's numbers; the kernel of the last step.
std::string kernel_of(const std::shared_ptr<Graph>& graph) {
  Session session(graph);
  std::string kernel;
  for (const std::int64_t M : {1, 3, 9}) {
    const auto inputs = inputs_of(*graph, {{"M", M}});
    const auto expected = evaluate(*graph, inputs);
    const auto got = session.run(inputs);
    expect_close(got[0], expected[0]);
    const auto plan = session.plan_for(inputs);
    const auto kernels = kernels_of(*plan);
    EXPECT_EQ(kernels.size(), 1U) << plan->text();
    kernel = kernels.back();
  }
  return kernel;
}

struct Spelling {
  const char* text;
  const char* kernel;
};

class QuantizedWeight : public ::testing::TestWithParam<Spelling> {};

TEST_P(QuantizedWeight, StaysInItsBits) {
  EXPECT_EQ(kernel_of(graph_of_codes(GetParam().text)), GetParam().kernel) << GetParam().text;
}

constexpr Spelling spellings[] = {
    {R"(graph one_scale(%x: f32[M,160]) {
  @w : i8[200,160]
  @b : f32[200]
  %1 = cast(@w) : f32[200,160]
  %2 = mul(%1, 0.01) : f32[200,160]
  %3 = linear(%x, %2, @b) : f32[M,200]
  return %3
})",
     "int8 gemm+bias"},
    {R"(graph columns(%x: f32[M,160]) {
  @w : i8[160,200]
  @s : f32[200]
  @z : i8[200]
  %1 = cast(@z) : f32[200]
  %2 = fused { cast(@w); sub(_, %1); mul(@s, _) } : f32[160,200]
  %3 = fused matmul(%x, %2) { relu } : f32[M,200]
  return %3
})",
     "int8 gemm+relu"},
    {R"(graph centred_as_integers(%x: f32[M,160]) {
  @w : u8[160,200]
  @s : f32[200]
  @z : u8[200]
  %1 = cast(@w, to=i32) : i32[160,200]
  %2 = cast(@z, to=i32) : i32[200]
  %3 = sub(%1, %2) : i32[160,200]
  %4 = cast(%3) : f32[160,200]
  %5 = mul(%4, @s) : f32[160,200]
  %6 = matmul(%x, %5) : f32[M,200]
  return %6
})",
     "int8 gemm"},
    {R"(graph groups(%x: f32[M,160]) {
  @w : i8[200,5,32]
  @s : f32[200,5,1]
  %1 = fused { cast(@w); mul(_, @s) } : f32[200,5,32]
  %2 = reshape(%1, shape=[200,160]) : f32[200,160]
  %3 = linear(%x, %2) : f32[M,200]
  return %3
})",
     "int8 gemm"},
    {R"(graph repeated_scales(%x: f32[M,160]) {
  @w : i8[160,200]
  @s : f32[5,200]
  %1 = reshape(@s, shape=[5,1,200]) : f32[5,1,200]
  %2 = expand(%1, shape=[5,32,200]) : f32[5,32,200]
  %3 = reshape(%2, shape=[160,200]) : f32[160,200]
  %4 = cast(@w) : f32[160,200]
  %5 = mul(%4, %3) : f32[160,200]
  %6 = matmul(%x, %5) : f32[M,200]
  return %6
})",
     "int8 gemm"},
    {R"(graph two_in_a_byte(%x: f32[M,160]) {
  @w : u8[200,5,16]
  @s : f32[200,5,1]
  %1 = bit_and(@w, 15) : u8[200,5,16]
  %2 = shift_right(@w, 4) : u8[200,5,16]
  %3 = reshape(%1, shape=[200,5,16,1]) : u8[200,5,16,1]
  %4 = reshape(%2, shape=[200,5,16,1]) : u8[200,5,16,1]
  %5 = concat(%3, %4, axis=3) : u8[200,5,16,2]
  %6 = reshape(%5, shape=[200,5,32]) : u8[200,5,32]
  %7 = fused { cast(%6); sub(_, 8.0); mul(_, @s) } : f32[200,5,32]
  %8 = reshape(%7, shape=[200,160]) : f32[200,160]
  %9 = linear(%x, %8) : f32[M,200]
  return %9
})",
     "int4 gemm"},
    {R"(graph transposed(%x: f32[M,160]) {
  @w : i8[200,160]
  @s : f32[200,1]
  %1 = fused { cast(@w); mul(_, @s) } : f32[200,160]
  %2 = permute(%1, axes=[1,0]) : f32[160,200]
  %3 = matmul(%x, %2) : f32[M,200]
  return %3
})",
     "int8 gemm"},
    {R"(graph integers(%x: i32[M,160]) {
  @w : u8[160,200]
  @z : u8[200]
  %1 = cast(@w, to=i32) : i32[160,200]
  %2 = cast(@z, to=i32) : i32[200]
  %3 = sub(%1, %2) : i32[160,200]
  %4 = matmul(%x, %3) : i32[M,200]
  return %4
})",
     "byte gemm"},
    // What is read as floats is made of the integers once, before the runs.
    {R"(graph a_scale_for_each_k(%x: f32[M,160]) {
  @w : i8[160,200]
  @s : f32[160,1]
  %1 = fused { cast(@w); mul(_, @s) } : f32[160,200]
  %2 = matmul(%x, %1) : f32[M,200]
  return %2
})",
     "gemm"},
    {R"(graph another_formula(%x: f32[M,160]) {
  @w : i8[160,200]
  %1 = fused { cast(@w); tanh } : f32[160,200]
  %2 = matmul(%x, %1) : f32[M,200]
  return %2
})",
     "gemm"},
};
std::string name_of(const ::testing::TestParamInfo<Spelling>& spelling) {
  const std::string_view text = spelling.param.text;
  return std::string(text.substr(6, text.find('(') - 6));
}
INSTANTIATE_TEST_SUITE_P(, QuantizedWeight, ::testing::ValuesIn(spellings), name_of);

// Neither the plan nor the store of weights holds a copy of more than the bits, in however many plans.
TEST(QuantizedWeights, AreInMemoryOnce) {
  const auto graph = graph_of_codes(spellings[5].text);
  Session session(graph);
  for (const std::int64_t M : {1, 2, 3, 40}) session.run(inputs_of(*graph, {{"M", M}}));
  const double codes = 200 * 160 / 2, scales = 200 * 5 * 4, padding = 1.15;  // whole panels of columns
  EXPECT_LT(static_cast<double>(session.packed_bytes()), padding * (codes + scales));
  EXPECT_GT(static_cast<double>(session.packed_bytes()), codes + scales);
}

// An expression that uses its parts again and again is computed part by part.
TEST(QuantizedWeights, OfManyOperatorsAreNumbers) {
  std::string text = "graph g(%x: f32[M,32]) {\n  @w : i8[32,32]\n  %1 = cast(@w) : f32[32,32]\n";
  for (int i = 2; i < 50; ++i)
    text += fmt::format("  %{0} = {2}(%{1}, %{1}) : f32[32,32]\n", i, i - 1, i % 2 ? "maximum" : "minimum");
  text += "  %50 = matmul(%x, %49) : f32[M,32]\n  return %50\n}\n";
  EXPECT_EQ(kernel_of(graph_of_codes(text)), "gemm");
}

// Both sides are integers times a constant: integers are multiplied, and rounded once.
TEST(QuantizedWeights, ByNumbersOfAGridAreProductsOfIntegers) {
  const auto graph = graph_of_codes(R"(graph g(%x: f32[M,160], %r: f32[M,200]) {
  @w : u8[160,200]
  @s : f32[200]
  @z : u8[200]
  @b : f32[200]
  %1 = fused { mul(%x, 25.0); round; add(_, 100.0); clamp(_, min=0.0, max=255.0); cast(_, to=u8); cast; sub(_, 100.0); mul(_, 0.04) } : f32[M,160]
  %2 = cast(@z) : f32[200]
  %3 = fused { cast(@w); sub(_, %2); mul(_, @s) } : f32[160,200]
  %4 = fused matmul(%1, %3) { add(_, @b); add(_, %r); tanh } : f32[M,200]
  return %4
})");
  Session session(graph);
  for (const std::int64_t M : {1, 3, 9, 40}) {
    const auto inputs = inputs_of(*graph, {{"M", M}});
    const auto kernels = kernels_of(*session.plan_for(inputs));
    ASSERT_EQ(kernels.size(), 2U);
    EXPECT_TRUE(kernels[1].starts_with("byte gemm")) << kernels[1];
    expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0]);
    expect_same_with_every_candidate(graph, inputs, evaluate(*graph, inputs));
  }
}

// Images between such convolutions lie in memory as bytes, also those that a later layer adds.
TEST(QuantizedWeights, OfConvolutionsByNumbersOfAGridAreSumsOfIntegers) {
  const auto graph = graph_of_codes(R"(graph g(%x: f32[N,8,9,7]) {
  @w : i8[32,8,3,3]
  @v : u8[32,32,1,1]
  @u : i8[32,32,3,3]
  @s : f32[32]
  @b : f32[32]
  %s = reshape(@s, shape=[32,1,1,1]) : f32[32,1,1,1]
  %1 = fused { div(%x, 0.03); round; add(_, 101.0); clamp(_, min=0.0, max=255.0); cast(_, to=u8); cast; sub(_, 101.0); mul(_, 0.03) } : f32[N,8,9,7]
  %2 = fused { cast(@w); mul(_, %s) } : f32[32,8,3,3]
  %3 = fused conv(%1, %2, @b, pad=1) { relu; mul(_, 0.125); round; clamp(_, min=0.0, max=255.0); cast(_, to=u8); cast; mul(_, 8.0) } : f32[N,32,9,7]
  %4 = fused { cast(@v); sub(_, 128.0); mul(_, %s) } : f32[32,32,1,1]
  %5 = fused conv(%3, %4) { mul(_, 0.01); round; clamp(_, min=-128.0, max=127.0); cast(_, to=i8); cast; mul(_, 100.0); add(_, %3); mul(_, 0.01); round; clamp(_, min=-128.0, max=127.0); cast(_, to=i8); cast; sub(_, -3.0); mul(_, 100.0) } : f32[N,32,9,7]
  %6 = fused { cast(@u); mul(_, 0.5) } : f32[32,32,3,3]
  %7 = conv(%5, %6, stride=2, pad=1) : f32[N,32,5,4]
  return %7
})");
  if (!cpu::runs_dot_of_bytes()) GTEST_SKIP() << "this CPU has no dot product of bytes";
  Session session(graph);
  for (const std::int64_t N : {1, 3}) {
    const auto inputs = inputs_of(*graph, {{"N", N}});
    const auto plan = session.plan_for(inputs);
    const auto kernels = kernels_of(*plan);
    ASSERT_EQ(kernels.size(), 5U) << plan->text();  // the last one copies the result
    for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(kernels[i].starts_with("byte")) << kernels[i];
    std::vector<DType> held;
    for (const auto& node : plan->graph->body().nodes()) held.push_back(node->output()->dtype());
    EXPECT_EQ(std::count(held.begin(), held.end(), DType::u8), 2) << plan->text();
    EXPECT_EQ(std::count(held.begin(), held.end(), DType::i8), 1) << plan->text();
    expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0]);
  }
}

// Rounding of weights to 16 bits is left out: the products have more digits, not fewer.
// Their codes are what is left after that.
TEST(QuantizedWeights, ThatWrapAroundAreWhatTheyWrapTo) {
  for (const char* weights : {"  %1 = sub(@w, 8) : u8[200,160]\n  %2 = cast(%1) : f32[200,160]",
                              "  %1 = sub(@w, @z) : u8[200,160]\n  %2 = cast(%1) : f32[200,160]",
                              "  %1 = cast(@i, to=u16) : u16[200,160]\n  %2 = cast(%1) : f32[200,160]"}) {
    const auto graph = graph_of_codes(fmt::format(R"(graph g(%x: f32[M,160]) {{
  @w : u8[200,160]
  @z : u8[160]
  @i : i8[200,160]
{}
  %3 = mul(%2, 0.001) : f32[200,160]
  %4 = linear(%x, %3) : f32[M,200]
  return %4
}})",
                                                  weights));
    SCOPED_TRACE(print(*graph));
    kernel_of(graph);
  }
}

TEST(QuantizedWeights, OfTwoResultsOfOneOperatorAreTwo) {
  const auto graph = graph_of_codes(R"(graph g(%x: f32[3,64]) {
  @w : i8[64,200]
  %1, %2 = sort(@w, axis=0) : i8[64,200], i64[64,200]
  %3 = cast(%1) : f32[64,200]
  %4 = mul(%3, 0.1) : f32[64,200]
  %5 = cast(%2) : f32[64,200]
  %6 = mul(%5, 0.1) : f32[64,200]
  %7 = matmul(%x, %4) : f32[3,200]
  %8 = matmul(%x, %6) : f32[3,200]
  return %7, %8
})");
  const auto inputs = inputs_of(*graph, {});
  const auto expected = evaluate(*graph, inputs);
  const auto got = Session(graph).run(inputs);
  for (std::size_t i = 0; i < 2; ++i) expect_close(got[i], expected[i]);
}

TEST(QuantizedWeights, OfModelsIn16BitsToo) {
  const auto graph = graph_of_codes(R"(graph g(%x: bf16[M,160]) {
  @w : i8[200,160]
  @s : bf16[200,1]
  %1 = fused { cast(@w, to=bf16); mul(_, @s) } : bf16[200,160]
  %2 = linear(%x, %1) : bf16[M,200]
  return %2
})");
  Session session(graph);
  const auto inputs = inputs_of(*graph, {{"M", 2}});
  const auto kernels = kernels_of(*session.plan_for(inputs));
  EXPECT_NE(std::find_if(kernels.begin(), kernels.end(), [](auto& k) { return k.starts_with("int8 gemm"); }),
            kernels.end());
  expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0], 2e-2);
}

}  // namespace
}  // namespace tenon::testing
