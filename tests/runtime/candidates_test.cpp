// What a device offers for a group, and what the planner makes of it.
#include <fmt/format.h>

#include "kernels/cpu/float_pieces.h"
#include "runtime/planner.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

const char* const conv_relu = R"(graph g(%x: f32[1,64,60,60]) {
  @w: f32[64,64,3,3]
  %1 = fused { conv(%x, @w, pad=[1,1,1,1]); relu } : f32[1,64,60,60]
  return %1
})";

std::vector<std::string> kernels(const Choice& choice) {
  std::vector<std::string> names;
  for (const CandidateInfo& c : choice.candidates) names.push_back(c.kernel);
  return names;
}

std::shared_ptr<const Plan> plan_of(std::string_view text, SessionOptions options = {}) {
  const auto graph = graph_of(text);
  return Session(graph, std::move(options)).plan_for(inputs_of(*graph, {}));
}

TEST(Candidates, AConvolutionIsOfferedInEveryAlgorithmThatComputesIt) {
  const auto plan = plan_of(conv_relu);
  ASSERT_EQ(plan->choices.size(), 1u);
  const Choice& choice = plan->choices[0];
  EXPECT_EQ(kernels(choice),
            (std::vector<std::string>{"winograd4+relu", "winograd6+relu", "winograd2+relu", "gemm+relu"}));
  EXPECT_EQ(choice.candidates[choice.taken].kernel, "winograd6+relu");
  EXPECT_EQ(choice.why, "the least estimate");
  for (const CandidateInfo& c : choice.candidates) {
    EXPECT_GE(c.seconds, choice.candidates[choice.taken].seconds);
    EXPECT_EQ(c.order, channels_last(4));
    EXPECT_EQ(c.work.rows, 60 * 60);
    EXPECT_EQ(c.work.columns, 64);
    EXPECT_EQ(c.work.depth, 64 * 9);
    EXPECT_FALSE(c.weights.empty());
  }
}

// Larger tiles save more multiplications, and have more weights to read.
TEST(Candidates, FewPixelsOfManyChannelsHaveSmallTiles) {
  const auto kernel = [](int channels, int size) {
    const auto plan = plan_of(fmt::format(R"(graph g(%x: f32[1,{0},{1},{1}]) {{
  @w: f32[{0},{0},3,3]
  %1 = conv(%x, @w, pad=[1,1,1,1]) : f32[1,{0},{1},{1}]
  return %1
}})",
                                          channels, size));
    return plan->choices[0].candidates[plan->choices[0].taken].kernel;
  };
  EXPECT_EQ(kernel(512, 4), "taps");
  EXPECT_EQ(kernel(512, 7), "winograd2");
  EXPECT_EQ(kernel(256, 10), "winograd2");
  EXPECT_EQ(kernel(512, 14), "winograd4");
  EXPECT_EQ(kernel(64, 48), "winograd6");
}

TEST(Candidates, WhatAChooserTakesIsWhatRuns) {
  const auto fourth = [](const Group&, std::span<const CandidateInfo>) {
    return Decision{3, "a test wants it"};
  };
  const auto plan = plan_of(conv_relu, {.choose = fourth});
  EXPECT_EQ(plan->choices[0].why, "a test wants it");
  EXPECT_TRUE(plan->text().find("[gemm+relu] conv+relu") != std::string::npos) << plan->text();
}

TEST(Candidates, WeightsThatAreUsedOnceArePackedOnTheWay) {
  const char* const linear = R"(graph g(%x: f32[8,32]) {
  @w: f32[16,32]
  %1 = linear(%x, @w) : f32[8,16]
  return %1
})";
  const auto kernel = [&](bool runs_once) {
    const auto plan = plan_of(linear, {.runs_once = runs_once});
    return plan->choices[0].candidates[plan->choices[0].taken].kernel;
  };
  EXPECT_EQ(kernel(false), "gemm");
  EXPECT_EQ(kernel(true), "packing gemm");
}

// Winograd's method has weights several times as large; the reference has none, and takes too long.
TEST(Candidates, ThoseWithLeastWeightsKeepThemOnceAtMost) {
  const auto graph = graph_of(R"(graph g(%x: f32[1,64,32,32], %y: f32[8,64]) {
  @w: f32[64,64,3,3]
  @v: f32[64,64]
  %1 = conv(%x, @w, pad=[1,1,1,1]) : f32[1,64,32,32]
  %2 = linear(%y, @v) : f32[8,64]
  return %1, %2
})");
  const auto inputs = inputs_of(*graph, {});
  Session fast(graph), small(graph, {.choose = least_weights});
  const auto expected = fast.run(inputs), got = small.run(inputs);
  for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i]);
  constexpr std::size_t filters = 64 * 64 * 3 * 3 * sizeof(float), matrix = 64 * 64 * sizeof(float);
  EXPECT_GT(fast.packed_bytes(), 2 * filters);
  EXPECT_GE(small.packed_bytes(), filters);
  EXPECT_LT(small.packed_bytes(), filters + filters / 4 + matrix);
  const std::string plan = small.plan_for(inputs)->text();
  EXPECT_NE(plan.find("packing gemm"), std::string::npos) << plan;
}

// Strassen's method takes 1.75 times the weights, but for columns of panels that are empty.
TEST(Candidates, ThoseThatKeepWeightsOnceTakeNeitherWinogradNorStrassen) {
  const auto graph = graph_of(R"(graph g(%x: f32[1,64,32,32], %y: f32[96,2048]) {
  @w: f32[64,64,3,3]
  @v: f32[1024,2048]
  %1 = fused conv(%x, @w, pad=[1,1,1,1]) { relu } : f32[1,64,32,32]
  %2 = fused linear(%y, @v) { relu } : f32[96,1024]
  return %1, %2
})");
  const auto inputs = inputs_of(*graph, {});
  Session fast(graph), once(graph, {.choose = weights_once});
  const auto expected = fast.run(inputs), got = once.run(inputs);
  for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i]);
  const std::string plan = once.plan_for(inputs)->text();
  EXPECT_EQ(plan.find("winograd"), std::string::npos) << plan;
  EXPECT_EQ(plan.find("strassen"), std::string::npos) << plan;
  constexpr std::size_t bytes = (64 * 64 * 9 + 1024 * 2048) * sizeof(float);
  EXPECT_GE(once.packed_bytes(), bytes);
  EXPECT_LE(once.packed_bytes(), bytes + bytes / 4);
  if (!cpu::runs_float_pieces()) {
    EXPECT_NE(fast.plan_for(inputs)->text().find("strassen"), std::string::npos);
  }
}

// Candidates that nobody takes leave no trace: lowerings that are asked twice plan the same.
TEST(Candidates, ToMakeThemChangesNothing) {
  static const Device* const device = &cpu_device();
  static const auto twice = []<std::size_t i>() -> Lowering {
    return [](const Planner& planner, const Group& group) {
      device->general[i].lower(planner, group);
      return device->general[i].lower(planner, group);
    };
  };
  static const std::array general = {
      GeneralLowering{"view", twice.operator()<0>(), device->general[0].takes},
      GeneralLowering{"loop", twice.operator()<1>(), device->general[1].takes},
      GeneralLowering{"reference", twice.operator()<2>(), device->general[2].takes}};
  static const std::vector<OpLowering> lowerings = [] {
    std::vector<OpLowering> list;
    for (const OpLowering& l : device->lowerings) {
      list.push_back(l);  // one function for all: it is asked once a group
      list.back().lower = [](const Planner& planner, const Group& group) {
        std::vector<Candidate> all;
        for (const OpLowering* own : device->lowerings_of(group)) own->lower(planner, group);
        for (const OpLowering* own : device->lowerings_of(group))
          for (Candidate& c : own->lower(planner, group)) all.push_back(std::move(c));
        return all;
      };
    }
    return list;
  }();
  Device asks_twice = *device;
  asks_twice.general = general;
  asks_twice.lowerings = lowerings;
  const char* const text = R"(graph g(%x: f32[2,16,8,8], %i: i64[3]) {
  @w: f32[16,16,3,3]
  @m: f32[64,10]
  %1 = conv(%x, @w, pad=[1,1,1,1]) : f32[2,16,8,8]
  %2 = relu(%1) : f32[2,16,8,8]
  %3 = max_pool(%2, kernel=[2,2], stride=[2,2], pad=[0,0,0,0]) : f32[2,16,4,4]
  %4 = permute(%3, axes=[0,2,3,1]) : f32[2,4,4,16]
  %5 = reshape(%4, shape=[8,64]) : f32[8,64]
  %6 = matmul(%5, @m) : f32[8,10]
  %7 = index_select(%6, %i) : f32[3,10]
  %8 = concat(%7, %6, axis=0) : f32[11,10]
  return %8
})";
  EXPECT_EQ(plan_of(text, {.device = &asks_twice})->text(), plan_of(text, {.device = device})->text());
}

}  // namespace
}  // namespace tenon::testing
