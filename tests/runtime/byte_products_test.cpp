// Products of bytes, as they are and without their zero points: exact on every device; a GPU reads the bytes.
#include <fmt/format.h>

#include "tests/runtime/codes.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

constexpr DType s8 = DType::i8, u8 = DType::u8;

Tensor bytes(DType dtype, const Index& shape, unsigned seed) {
  return random_integers(dtype, shape, dtype == s8 ? -128 : 0, dtype == s8 ? 128 : 256, seed);
}

// What the interpreter gives, from inputs and weights that take every value; on a GPU by these kernels alone.
void expect_exact(const std::string& text, const std::vector<Tensor>& inputs,
                  const std::vector<std::string>& kernels = {}) {
  const auto graph = graph_of_codes(text);
  Session session(graph);
  expect_own_kernels(session, inputs);
  const auto expected = evaluate(*graph, inputs);
  for (int run = 0; run < 2; ++run) {
    const auto got = session.run(inputs);
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], 0);
  }
  const bool is_gpu = session.device().name != "cpu" && session.device().name != "far";
  if (!is_gpu || kernels.empty()) return;
  EXPECT_EQ(kernels_of(*session.plan_for(inputs)), kernels) << text;
}

// Both sides minus a zero point of their own.
std::string centred(DType left, DType right, std::int64_t M, std::int64_t K, std::int64_t N) {
  return fmt::format(R"(graph g(%x: {0}[{2},{3}], %y: {1}[{3},{4}], %a: {0}[], %b: {1}[1]) {{
  %1 = cast(%a, to=i32) : i32[]
  %2 = cast(%b, to=i32) : i32[1]
  %3 = fused {{ cast(%x, to=i32); sub(_, %1) }} : i32[{2},{3}]
  %4 = fused {{ cast(%y, to=i32); sub(_, %2) }} : i32[{3},{4}]
  %5 = matmul(%3, %4) : i32[{2},{4}]
  return %5
}})",
                     name(left), name(right), M, K, N);
}

TEST(ByteProducts, OfEachSignAndShape) {
  unsigned seed = 0;
  for (const DType left : {s8, u8})
    for (const DType right : {s8, u8})
      for (const auto& [M, K, N] : {std::tuple{1, 1, 1},
                                    {1, 33, 67},
                                    {5, 64, 16},
                                    {37, 113, 53},
                                    {70, 16, 130},
                                    {130, 208, 70},
                                    {3, 257, 2}}) {
        ++seed;
        expect_exact(centred(left, right, M, K, N),
                     {bytes(left, {M, K}, seed), bytes(right, {K, N}, seed + 100),
                      bytes(left, {}, seed + 200), bytes(right, {1}, seed + 300)});
      }
}

TEST(ByteProducts, WithoutZeroPoints) {
  expect_exact(R"(graph g(%x: i8[2,3,20,40], %y: u8[3,40,30]) {
  %1 = cast(%x, to=i32) : i32[2,3,20,40]
  %2 = cast(%y, to=i32) : i32[3,40,30]
  %3 = matmul(%1, %2) : i32[2,3,20,30]
  return %3
})",
               {bytes(s8, {2, 3, 20, 40}, 1), bytes(u8, {3, 40, 30}, 2)}, {"product 16x64 bytes"});
}

TEST(ByteProducts, ThatStayBytes) {
  expect_exact("graph g(%x: i8[37,53], %y: i8[53,19]) { %1 = matmul(%x, %y) : i8[37,19] return %1 }",
               {bytes(s8, {37, 53}, 1), bytes(s8, {53, 19}, 2)}, {"product 16x64 bytes"});
  expect_exact(
      "graph g(%x: i8[2,16,9,8], %w: i8[24,16,3,3]) { %1 = conv(%x, %w, pad=1) : i8[2,24,9,8] return %1 }",
      {bytes(s8, {2, 16, 9, 8}, 1), bytes(s8, {24, 16, 3, 3}, 2)});
}

// DynamicQuantizeLinear and MatMulInteger: the group before the products hands over bytes.
TEST(ByteProducts, OfWhatAGroupQuantises) {
  expect_exact(R"(graph g(%x: f32[9,160], %s: f32[], %z: i32[]) {
  @w : u8[160,200]
  @v : u8[200]
  @u : i8[160,70]
  %1 = fused { mul(%x, %s); round; clamp(_, min=0.0, max=255.0); cast(_, to=u8); cast(_, to=i32); sub(_, %z) } : i32[9,160]
  %2 = cast(@w, to=i32) : i32[160,200]
  %3 = cast(@v, to=i32) : i32[200]
  %4 = sub(%2, %3) : i32[160,200]
  %5 = cast(@u, to=i32) : i32[160,70]
  %6 = fused matmul(%1, %4) { cast(_, to=f32); mul(_, %s) } : f32[9,200]
  %7 = matmul(%1, %5) : i32[9,70]
  return %6, %7
})",
               {random_tensor(DType::f32, {9, 160}, 1), Tensor::scalar(DType::f32, 90.0),
                Tensor::scalar(DType::i32, 7.0)},
               {"loop", "product 16x64 bytes+tile", "product 16x64 bytes"});
}

TEST(ByteProducts, ByNumbersThatAreNoBytes) {
  for (const int far : {100, 200, 100000}) {
    const auto graph = graph_of(R"(graph g(%x: u8[9,40]) {
  @w : i32[40,30]
  %1 = cast(%x, to=i32) : i32[9,40]
  %2 = matmul(%1, @w) : i32[9,30]
  return %2
})");
    const auto weight = graph->find_weight("w");
    graph->set_weight_data(weight, random_integers(DType::i32, {40, 30}, -far, far, 5));
    const std::vector<Tensor> inputs{bytes(u8, {9, 40}, 1)};
    Session session(graph);
    expect_own_kernels(session, inputs);
    expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0], 0);
  }
}

TEST(ByteProducts, AndAnotherReader) {
  expect_exact(R"(graph g(%x: u8[9,40], %y: i8[40,30]) {
  %1 = fused { cast(%x, to=i32); sub(_, 3) } : i32[9,40]
  %2 = cast(%y, to=i32) : i32[40,30]
  %3 = matmul(%1, %2) : i32[9,30]
  return %3, %1
})",
               {bytes(u8, {9, 40}, 1), bytes(s8, {40, 30}, 2)});
}

TEST(ByteProducts, OfZeroPointsOfRows) {
  expect_exact(
      R"(graph g(%x: u8[9,40], %z: i32[9,1], %y: i8[40,30]) {
  %1 = fused { cast(%x, to=i32); sub(_, %z) } : i32[9,40]
  %2 = cast(%y, to=i32) : i32[40,30]
  %3 = matmul(%1, %2) : i32[9,30]
  return %3
})",
      {bytes(u8, {9, 40}, 1), random_integers(DType::i32, {9, 1}, 0, 256, 3), bytes(s8, {40, 30}, 2)});
}

TEST(ByteProducts, SumsAreModulo32Bits) {
  constexpr std::int64_t depth = 140000;
  Tensor x = Tensor::empty(s8, {2, depth});
  for_each_index(x.shape(), [&](auto i) { x.set_int(i, i[0] == 0 ? -128 : 127); });
  expect_exact(fmt::format(R"(graph g(%x: i8[2,{0}], %y: i8[{0},2]) {{
  %1 = cast(%x, to=i32) : i32[2,{0}]
  %2 = cast(%y, to=i32) : i32[{0},2]
  %3 = matmul(%1, %2) : i32[2,2]
  return %3
}})",
                           depth),
               {x, x.permute(Index{1, 0}).contiguous()});
}

}  // namespace
}  // namespace tenon::testing
