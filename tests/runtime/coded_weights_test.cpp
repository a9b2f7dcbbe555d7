// Products by weights of 8 and 4 bits, on any device: a GPU's kernels read the codes.
#include <fmt/format.h>

#include "tests/runtime/codes.h"
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

// Two codes in each byte of @w: f32[200,160] in groups of 32.
std::string halves(std::string_view scaled) {
  return fmt::format(R"(graph halves(%x: f32[M,160]) {{
  @w : u8[200,5,16]
  @s : f32[200,5,1]
  @z : u8[200,5,1]
  %1 = bit_and(@w, 15) : u8[200,5,16]
  %2 = shift_right(@w, 4) : u8[200,5,16]
  %3 = reshape(%1, shape=[200,5,16,1]) : u8[200,5,16,1]
  %4 = reshape(%2, shape=[200,5,16,1]) : u8[200,5,16,1]
  %5 = concat(%3, %4, axis=3) : u8[200,5,16,2]
  %6 = reshape(%5, shape=[200,5,32]) : u8[200,5,32]
{}
  %8 = reshape(%7, shape=[200,160]) : f32[200,160]
  %9 = linear(%x, %8) : f32[M,200]
  return %9
}})",
                     scaled);
}

constexpr char of_one_zero[] = "  %7 = fused { cast(%6); sub(_, 8.0); mul(_, @s) } : f32[200,5,32]";
constexpr char of_zeros[] =
    "  %z = cast(@z) : f32[200,5,1]\n"
    "  %7 = fused { cast(%6); sub(_, %z); mul(_, @s) } : f32[200,5,32]";

// For each number of rows what the reference gives; on a GPU, by the step that is named.
void expect_coded(const std::string& text, const std::vector<std::pair<std::int64_t, std::string>>& steps,
                  double tolerance = 2e-5) {
  const auto graph = graph_of_codes(text);
  Session session(graph);
  const bool is_gpu = session.device().name != "cpu" && session.device().name != "far";
  for (const auto& [rows, kernel] : steps) {
    const auto inputs = inputs_of(*graph, {{"M", rows}});
    expect_own_kernels(session, inputs);
    expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0], tolerance);
    if (!is_gpu) continue;
    EXPECT_EQ(kinds_of(*session.plan_for(inputs)), std::vector{kernel}) << text;
  }
}

TEST(CodedWeights, OfFourBitsInGroups) {
  expect_coded(halves(of_one_zero),
               {{1, "product of 1 row i4 groups of 32"}, {9, "product of tiles i4 groups of 32"}});
}

TEST(CodedWeights, OfFourBitsWithZeroPoints) {
  expect_coded(halves(of_zeros),
               {{3, "product of 4 rows i4 groups of 32"}, {9, "product of tiles i4 groups of 32"}});
}

TEST(CodedWeights, OfBytesAndWhatFollows) {
  expect_coded(R"(graph g(%x: f32[M,160]) {
  @w : u8[160,200]
  @s : f32[200]
  @z : u8[200]
  @b : f32[200]
  %1 = cast(@z) : f32[200]
  %2 = fused { cast(@w); sub(_, %1); mul(@s, _) } : f32[160,200]
  %3 = fused matmul(%x, %2) { add(_, @b); relu } : f32[M,200]
  return %3
})",
               {{2, "product of 2 rows i8+tile"}, {40, "product of tiles i8+tile"}});
}

TEST(CodedWeights, OfModelsIn16Bits) {
  for (const char* type : {"f16", "bf16"})
    expect_coded(fmt::format(R"(graph g(%x: {0}[2,M,160]) {{
  @w : i8[200,160]
  @s : {0}[200,1]
  %1 = fused {{ cast(@w, to={0}); mul(_, @s) }} : {0}[200,160]
  %2 = linear(%x, %1) : {0}[2,M,200]
  return %2
}})",
                             type),
                 {{1, "product of 2 rows i8"}, {9, "product of tiles i8"}}, 1e-2);
}

TEST(CodedWeights, TimesInfinity) {
  const auto graph = graph_of_codes(halves(of_zeros));
  auto inputs = inputs_of(*graph, {{"M", 9}});
  inputs[0].set_double(Index{2, 40}, HUGE_VAL);
  expect_close(Session(graph).run(inputs)[0], evaluate(*graph, inputs)[0]);
}

// MatMulInteger: exact, and small in memory; the inputs are any 32-bit integers.
TEST(CodedWeights, TimesIntegers) {
  expect_coded(R"(graph g(%x: i32[M,160]) {
  @w : u8[160,200]
  @z : u8[200]
  %1 = cast(@w, to=i32) : i32[160,200]
  %2 = cast(@z, to=i32) : i32[200]
  %3 = sub(%1, %2) : i32[160,200]
  %4 = matmul(%x, %3) : i32[M,200]
  return %4
})",
               {{1, "product of tiles i8"}, {9, "product of tiles i8"}}, 0);
}

TEST(CodedWeights, TimesAVector) {
  expect_coded(R"(graph g(%x: f32[160]) {
  @w : i8[200,160]
  %1 = fused { cast(@w); mul(_, 0.01) } : f32[200,160]
  %2 = linear(%x, %1) : f32[200]
  return %2
})",
               {{0, "product of 1 row i8"}});
}

// Groups of 24 have no kernel on a GPU: the weights are numbers there.
TEST(CodedWeights, InGroupsOfAnotherSize) {
  expect_coded(R"(graph g(%x: f32[M,120]) {
  @w : i8[200,5,24]
  @s : f32[200,5,1]
  %1 = fused { cast(@w); mul(_, @s) } : f32[200,5,24]
  %2 = reshape(%1, shape=[200,120]) : f32[200,120]
  %3 = linear(%x, %2) : f32[M,200]
  return %3
})",
               {{1, "product of 1 row"}});
}

// Neither the device nor the store of weights holds a copy of more than the bits.
TEST(CodedWeights, AreInMemoryOnce) {
  const auto graph = graph_of_codes(halves(of_one_zero));
  Session session(graph);
  for (const std::int64_t M : {1, 9}) session.run(inputs_of(*graph, {{"M", M}}));
  const double codes = 200 * 160 / 2, scales = 200 * 5 * 4, padding = 1.15;  // whole panels of columns
  EXPECT_LT(static_cast<double>(session.packed_bytes()), padding * (codes + scales));
}

}  // namespace
}  // namespace tenon::testing
