// Products of every dtype and layout, and convolutions with weights that the graph computes, against the
// interpreter.
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

std::string graph_of_product(const char* op, const Index& a, const Index& b, const Index& c, DType dtype,
                             const char* view = "%b", const Index& bias = {}) {
  const std::string as_bias = bias.empty() ? "" : fmt::format(", %bias: {}", type_string(dtype, bias));
  std::string text =
      fmt::format("graph g(%a: {}, %b: {}{}) {{\n", type_string(dtype, a), type_string(dtype, b), as_bias);
  if (std::string_view(view) != "%b") text += fmt::format("  %v = {}\n", view);
  return text + fmt::format("  %1 = {}(%a, {}{}) : {}\n  return %1\n}}\n", op,
                            std::string_view(view) != "%b" ? "%v" : "%b", bias.empty() ? "" : ", %bias",
                            type_string(dtype, c));
}

constexpr DType dtypes[] = {DType::f32, DType::f64, DType::i32, DType::i64};

TEST(Products, EveryTypeAndShape) {
  for (const DType dtype : dtypes) {
    const auto check = [&](const Index& a, const Index& b, const Index& c) {
      expect_same_on(graph_of_product("matmul", a, b, c, dtype),
                     {random_tensor(dtype, a, 1), random_tensor(dtype, b, 2)});
    };
    for (const std::int64_t n : {1, 5, 8, 16, 24, 67}) {
      check({3, 40}, {40, n}, {3, n});
      check({50, n, n}, {50, n, n}, {50, n, n});
      check({70, 130}, {130, n}, {70, n});
      check({1, 33}, {33, n}, {1, n});
      check({2, 3, 17, 9}, {2, 3, 9, n}, {2, 3, 17, n});
    }
    check({2, 1, 4, 9}, {3, 9, 5}, {2, 3, 4, 5});  // broadcast
  }
}

TEST(Products, OfViewsAndWithBias) {
  for (const DType dtype : dtypes) {
    expect_same_on(
        graph_of_product("linear", {6, 33}, {19, 33}, {6, 19}, dtype, "%b", {19}),
        {random_tensor(dtype, {6, 33}, 1), random_tensor(dtype, {19, 33}, 2), random_tensor(dtype, {19}, 3)});
    expect_same_on(graph_of_product("linear", {1, 33}, {19, 33}, {1, 19}, dtype),
                   {random_tensor(dtype, {1, 33}, 1), random_tensor(dtype, {19, 33}, 2)});
    const std::string flipped = fmt::format("flip(%b, axes=[0]) : {}", type_string(dtype, Index{33, 19}));
    expect_same_on(graph_of_product("matmul", {6, 33}, {33, 19}, {6, 19}, dtype, flipped.c_str()),
                   {random_tensor(dtype, {6, 33}, 1), random_tensor(dtype, {33, 19}, 2)});
    const std::string expanded =
        fmt::format("expand(%b, shape=[33,19]) : {}", type_string(dtype, Index{33, 19}));
    expect_same_on(graph_of_product("matmul", {6, 33}, {1, 19}, {6, 19}, dtype, expanded.c_str()),
                   {random_tensor(dtype, {6, 33}, 1), random_tensor(dtype, {1, 19}, 2)});
  }
}

TEST(Products, ToOneColumnWithBias) {
  for (const DType dtype : {DType::f64, DType::i32, DType::i64, DType::f16, DType::bf16})
    for (const std::int64_t rows : {1, 3, 70}) {
      const double tolerance = dtype == DType::f16 ? 2e-3 : dtype == DType::bf16 ? 2e-2 : 1e-12;
      expect_same_on(graph_of_product("linear", {rows, 33}, {1, 33}, {rows, 1}, dtype, "%b", {1}),
                     {random_tensor(dtype, {rows, 33}, 1), random_tensor(dtype, {1, 33}, 2),
                      random_tensor(dtype, {1}, 3)},
                     tolerance);
    }
}

TEST(Products, OfSmallIntegersWrapAround) {
  for (const DType dtype : {DType::i8, DType::u8, DType::i16}) {
    expect_same_on(graph_of_product("matmul", {5, 40}, {40, 7}, {5, 7}, dtype),
                   {random_tensor(dtype, {5, 40}, 1), random_tensor(dtype, {40, 7}, 2)});
  }
}

TEST(Products, OfHalvesWithAVector) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const double tolerance = dtype == DType::f16 ? 2e-3 : 2e-2;
    const auto check = [&](const Index& a, const Index& b, const Index& c, const char* view = "%b") {
      expect_same_on(graph_of_product("matmul", a, b, c, dtype, view),
                     {random_tensor(dtype, a, 1), random_tensor(dtype, b, 2)}, tolerance);
    };
    check({3, 40}, {40, 1}, {3, 1});
    check({70, 131}, {131, 1}, {70, 1});
    check({2, 3, 17, 9}, {2, 3, 9, 1}, {2, 3, 17, 1});
    check({2, 1, 4, 9}, {3, 9, 1}, {2, 3, 4, 1});
    check({2, 3, 5, 9}, {9, 1}, {2, 3, 5, 1});
    check({6, 33}, {33, 1}, {6, 1},
          fmt::format("flip(%b, axes=[0]) : {}", type_string(dtype, Index{33, 1})).c_str());
  }
}

// They are computed as they lie: nothing is cast.
TEST(Products, OfHalvesWithAVectorAreOneStep) {
  const std::string text = graph_of_product("matmul", {64, 64}, {64, 1}, {64, 1}, DType::bf16);
  Session session(graph_of(text));
  const auto plan =
      session.plan_for({{random_tensor(DType::bf16, {64, 64}, 1), random_tensor(DType::bf16, {64, 1}, 2)}});
  EXPECT_EQ(plan->steps.size(), 1U) << plan->text();
}

TEST(Products, ConvolutionsOfEveryType) {
  const std::tuple<Index, Index, const char*, Index> forms[] = {
      {{2, 6, 9, 8}, {4, 6, 3, 3}, "pad=1", {2, 4, 9, 8}},
      {{1, 6, 9, 8}, {4, 3, 3, 2}, "groups=2, stride=[2,3], pad=[1,0,2,1]", {1, 4, 5, 3}},
      {{1, 6, 19, 18}, {6, 1, 3, 3}, "groups=6, dilation=[2,3]", {1, 6, 15, 12}},
      {{3, 5, 31}, {7, 5, 4}, "stride=3", {3, 7, 10}},
      {{1, 300, 7, 7}, {5, 300, 1, 1}, "stride=1", {1, 5, 7, 7}},
      {{1, 3, 4, 5, 6}, {4, 3, 2, 3, 2}, "pad=1", {1, 4, 5, 5, 7}}};
  for (const DType dtype : {DType::f64, DType::i32, DType::i64})
    for (const auto& [x, w, options, y] : forms) {
      const Index b = {w[0]};
      const auto type = [&](const Index& shape) { return type_string(dtype, shape); };
      expect_same_on(fmt::format("graph g(%x: {}, %w: {}, %b: {}) {{\n  %1 = conv(%x, %w, %b, {}) : {}\n"
                                 "  return %1\n}}\n",
                                 type(x), type(w), type(b), options, type(y)),
                     {random_tensor(dtype, x, 1), random_tensor(dtype, w, 2), random_tensor(dtype, b, 3)},
                     dtype == DType::f64 ? 1e-12 : 0);
    }
}

TEST(Products, TransposedConvolutionsOfEveryType) {
  const std::tuple<Index, Index, const char*, Index> forms[] = {
      {{2, 6, 9, 8}, {6, 4, 3, 3}, "pad=1", {2, 4, 9, 8}},
      {{1, 6, 5, 4}, {6, 2, 3, 2}, "groups=2, stride=[2,3], pad=[1,0,1,0], output_pad=[1,0]", {1, 4, 10, 11}},
      {{1, 6, 4, 5}, {6, 1, 3, 3}, "groups=6, dilation=[2,3], pad=[3,4,3,4]", {1, 6, 2, 3}},
      {{3, 5, 31}, {5, 7, 2}, "stride=3", {3, 7, 92}},
      {{1, 3, 60, 70}, {3, 8, 4, 4}, "stride=2, pad=1", {1, 8, 120, 140}},
      {{1, 3, 4, 5, 6}, {3, 4, 2, 3, 2}, "pad=1", {1, 4, 3, 5, 5}}};
  for (const DType dtype : {DType::f64, DType::i32, DType::i64})
    for (const auto& [x, w, options, y] : forms) {
      const Index b = {y[1]};
      const auto type = [&](const Index& shape) { return type_string(dtype, shape); };
      const std::string text = fmt::format(
          "graph g(%x: {}, %w: {}, %b: {}) {{\n  %1 = conv_transpose(%x, %w, %b, {}) : {}\n"
          "  return %1\n}}\n",
          type(x), type(w), type(b), options, type(y));
      const std::vector<Tensor> inputs = {random_tensor(dtype, x, 1), random_tensor(dtype, w, 2),
                                          random_tensor(dtype, b, 3)};
      expect_same_on(text, inputs, dtype == DType::f64 ? 1e-12 : 0);
      Session session(graph_of(text));
      if (session.device().name == "cpu") {
        EXPECT_EQ(session.plan_for(inputs)->steps.back()->info.kernel, "typed convolution");
      }
    }
}

TEST(Products, ConvolutionsWithComputedWeights) {
  const std::pair<const char*, const char*> forms[] = {
      {"", "7,6"}, {", pad=[1,1,1,1], stride=[2,1]", "5,8"}, {", pad=[2,2,2,2], dilation=[2,2]", "9,8"}};
  for (const auto& [options, sizes] : forms)
    for (const int groups : {1, 2, 6})
      expect_same_on(
          fmt::format("graph g(%x: f32[2,6,9,8], %w: f32[6,{0},3,3], %b: f32[6]) {{\n"
                      "  %1 = add(%w, %w) : f32[6,{0},3,3]\n"
                      "  %2 = fused {{ conv(%x, %1, %b, groups={1}{2}); relu }} : f32[2,6,{3}]\n"
                      "  return %2\n}}\n",
                      6 / groups, groups, options, sizes),
          {random_tensor(DType::f32, {2, 6, 9, 8}, 1), random_tensor(DType::f32, {6, 6 / groups, 3, 3}, 2),
           random_tensor(DType::f32, {6}, 3)});
}

TEST(Products, TransposedConvolutionsWithComputedWeights) {
  const std::pair<const char*, const char*> forms[] = {{"", "11,10"},
                                                       {", pad=1, stride=[2,1], output_pad=[1,0]", "18,8"},
                                                       {", dilation=2", "13,12"},
                                                       {", stride=3", "27,24"}};
  for (const auto& [options, sizes] : forms)
    for (const int groups : {1, 2, 4})
      expect_same_on(
          fmt::format("graph g(%x: f32[2,8,9,8], %w: f32[8,{0},3,3], %b: f32[{1}]) {{\n"
                      "  %1 = add(%w, %w) : f32[8,{0},3,3]\n"
                      "  %2 = fused {{ conv_transpose(%x, %1, %b, groups={2}{3}); relu }} : f32[2,{1},{4}]\n"
                      "  return %2\n}}\n",
                      24 / groups, 24, groups, options, sizes),
          {random_tensor(DType::f32, {2, 8, 9, 8}, 1), random_tensor(DType::f32, {8, 24 / groups, 3, 3}, 2),
           random_tensor(DType::f32, {24}, 3)});
}

// A group's axis and its weights' stay apart in the loop that it becomes.
TEST(Products, GroupNormIsOneLoop) {
  const std::string text =
      "graph g(%x: f32[2,6,5,7], %w: f32[6], %b: f32[6]) {\n"
      "  %1 = group_norm(%x, %w, %b, groups=3) : f32[2,6,5,7]\n  return %1\n}\n";
  const std::vector<Tensor> inputs = {random_tensor(DType::f32, {2, 6, 5, 7}, 1),
                                      random_tensor(DType::f32, {6}, 2), random_tensor(DType::f32, {6}, 3)};
  expect_same_on(text, inputs);
  Session session(graph_of(text));
  EXPECT_EQ(session.plan_for(inputs)->steps.size(), 1U) << session.plan_for(inputs)->text();
}

}  // namespace
}  // namespace tenon::testing
