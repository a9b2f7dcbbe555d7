// Products of float8 that float32 stands for: a GPU's kernels read the bytes, and multiply them as they are
// where its matrix units do. What these keep of a sum is less than float32.
#include <fmt/format.h>

#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

constexpr double tolerance = 1e-3;

// Both sides in the place of float32, scaled by rows and columns, with a bias: _scaled_mm.
std::string scaled(DType left, DType right, std::int64_t M, std::int64_t K, std::int64_t N,
                   DType result = DType::f32) {
  return fmt::format(
      R"(graph g(%x: {0}[{2},{3}], %y: {1}[{3},{4}], %a: f32[{2},1], %b: f32[1,{4}], %c: f32[{4}]) {{
  %1 = cast(%x) : f32[{2},{3}]
  %2 = cast(%y) : f32[{3},{4}]
  %3 = fused matmul(%1, %2) {{ mul(_, %a); mul(_, %b); add(_, %c); cast(_, to={5}) }} : {5}[{2},{4}]
  return %3
}})",
      name(left), name(right), M, K, N, name(result));
}

// The kernels of a plan on a GPU whose units multiply this form, as they are by default; others: none.
std::vector<std::string> kernels_on_units(Session& session, std::span<const Tensor> inputs, DType form) {
  const bool is_ocp = form == DType::f8e4m3fn || form == DType::f8e5m2;
  if (!session.device().name.starts_with(is_ocp ? "cuda" : "hip")) return {};
  return kernels_of(*session.plan_for(inputs));
}

void expect_on_units(const std::string& text, DType form, const std::vector<std::string>& kernels,
                     double within = tolerance) {
  const auto graph = graph_of(text);
  const auto inputs = inputs_of(*graph, {});
  expect_same_on(text, inputs, within);
  Session session(graph);
  if (const auto found = kernels_on_units(session, inputs, form); !found.empty()) {
    EXPECT_EQ(found, kernels) << text;
  }
}

constexpr std::pair<DType, DType> forms[] = {{DType::f8e4m3fn, DType::f8e5m2},
                                             {DType::f8e4m3fnuz, DType::f8e5m2fnuz}};

TEST(Float8Products, OfEachPairAndShape) {
  for (const auto& [e4m3, e5m2] : forms)
    for (const auto& [left, right] :
         {std::pair{e4m3, e4m3}, std::pair{e4m3, e5m2}, std::pair{e5m2, e4m3}, std::pair{e5m2, e5m2}})
      for (const auto& [M, K, N] : {std::tuple{1, 33, 67}, {37, 113, 53}, {70, 208, 130}, {3, 257, 2}})
        expect_on_units(scaled(left, right, M, K, N), left, {"product 16x64 float8+tile"});
}

TEST(Float8Products, OfTwoForms) {
  const std::string text = scaled(DType::f8e4m3fn, DType::f8e4m3fnuz, 20, 48, 30);
  expect_same_on(text, inputs_of(*graph_of(text), {}), tolerance);
}

TEST(Float8Products, ByAWeight) {
  for (const auto& [e4m3, e5m2] : forms) {
    const auto text = [form = e4m3](int rows) {
      return fmt::format(R"(graph g(%x: {0}[{1},64], %s: f32[]) {{
  @w : {0}[96,64]
  @b : f32[96]
  %1 = cast(%x) : f32[{1},64]
  %2 = cast(@w) : f32[96,64]
  %3 = fused linear(%1, %2, @b) {{ mul(_, %s); relu }} : f32[{1},96]
  return %3
}})",
                         name(form), rows);
    };
    expect_on_units(text(20), e4m3, {"product 16x64 float8+tile"});
    for (const auto& [rows, kernel] :
         {std::pair{1, "product of 1 row float8+tile"}, std::pair{3, "product of 4 rows float8+tile"}})
      expect_on_units(text(rows), e4m3, {kernel}, 2e-5);
  }
}

TEST(Float8Products, OfBatches) {
  expect_on_units(R"(graph g(%x: f8e4m3fn[2,3,20,48], %y: f8e5m2[3,48,30]) {
  %1 = cast(%x) : f32[2,3,20,48]
  %2 = cast(%y) : f32[3,48,30]
  %3 = matmul(%1, %2) : f32[2,3,20,30]
  return %3
})",
                  DType::f8e4m3fn, {"product 16x64 float8"});
}

// The group before them hands over float8, to both of them.
TEST(Float8Products, OfWhatAGroupQuantises) {
  for (const auto& [e4m3, e5m2] : forms)
    expect_on_units(fmt::format(R"(graph g(%x: f32[9,160], %s: f32[]) {{
  @w : {0}[200,160]
  @v : {1}[70,160]
  %1 = fused {{ mul(%x, %s); clamp(_, min=-200.0, max=200.0); cast(_, to={0}); cast }} : f32[9,160]
  %2 = cast(@w) : f32[200,160]
  %3 = cast(@v) : f32[70,160]
  %4 = linear(%1, %2) : f32[9,200]
  %5 = linear(%1, %3) : f32[9,70]
  return %4, %5
}})",
                                name(e4m3), name(e5m2)),
                    e4m3, {"loop", "product 16x64 float8", "product 16x64 float8"});
}

TEST(Float8Products, AndAnotherReader) {
  const std::string text = R"(graph g(%x: f8e4m3fn[9,48], %y: f8e4m3fn[48,30]) {
  %1 = cast(%x) : f32[9,48]
  %2 = cast(%y) : f32[48,30]
  %3 = matmul(%1, %2) : f32[9,30]
  return %3, %1
})";
  expect_same_on(text, inputs_of(*graph_of(text), {}));
}

TEST(Float8Products, BesideFloat32) {
  const std::string text = R"(graph g(%x: f8e4m3fn[9,48]) {
  @w : f32[30,48]
  %1 = cast(%x) : f32[9,48]
  %2 = linear(%1, @w) : f32[9,30]
  return %2
})";
  expect_same_on(text, inputs_of(*graph_of(text), {}));
}

TEST(Float8Products, ThatBecomeFloat8SaturateAsCastsDo) {
  for (const auto& [e4m3, e5m2] : forms)
    for (const DType result : {e4m3, e5m2, DType::bf16}) {
      const std::string text = scaled(e4m3, e5m2, 9, 64, 30, result);
      std::vector<Tensor> inputs = inputs_of(*graph_of(text), {});
      for_each_index(inputs[2].shape(), [&](auto i) { inputs[2].set_double(i, i[0] < 4 ? 1e5 : 1); });
      expect_same_on(text, inputs, 0.126);
    }
}

// Row i of the left side holds code i and zeros, and one column of the right side ones: each number, each NaN
// and each infinity is what comes out, and in the other columns 0 or NaN.
TEST(Float8Products, KnowEachCode) {
  for (const auto& [e4m3, e5m2] : forms)
    for (const auto& [left, right] : {std::pair{e4m3, e5m2}, std::pair{e5m2, e4m3}}) {
      Tensor x = Tensor::zeros(left, {256, 48}), y = Tensor::zeros(right, {48, 20});
      for (std::int64_t i = 0; i < 256; ++i) x.mutable_bytes()[i * 48 + i % 48] = static_cast<std::byte>(i);
      for (std::int64_t k = 0; k < 48; ++k) y.set_double(Index{k, 7}, 1);
      const std::string text = fmt::format(R"(graph g(%x: {0}[256,48], %y: {1}[48,20]) {{
  %1 = cast(%x) : f32[256,48]
  %2 = cast(%y) : f32[48,20]
  %3 = matmul(%1, %2) : f32[256,20]
  return %3
}})",
                                           name(left), name(right));
      expect_same_on(text, {x, y}, 0);
    }
}

}  // namespace
}  // namespace tenon::testing
