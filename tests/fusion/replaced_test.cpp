// Which imported nodes a fused node replaced.
#include "fusion/replaced.h"

#include <gtest/gtest.h>

#include "ir/outline.h"
#include "tests/fusion/rewriting.h"

namespace tenon {
namespace {

using Regions = std::map<std::string, std::vector<std::string>>;

std::string name_of(const Node& node) {
  return node.regions().empty() ? std::string(node.op().name()) : group_text(node);
}

/// By the operators of the fused node, those that it replaced.
Regions regions(const std::string& text) {
  const auto imported = testing::graph_with_data(text);
  number_origins(*imported);
  const auto fused = clone(*imported);
  fuse(*fused);
  const auto owners = replaced_nodes(*imported, *fused);
  Regions found;
  for (const auto& node : imported->body().nodes()) {
    const auto owner = owners.find(node.get());
    found[owner == owners.end() ? "nothing" : name_of(*owner->second)].emplace_back(node->op().name());
  }
  return found;
}

TEST(Regions, AGroupReplacesItsMembersAndWhatWasFoldedIntoThem) {
  EXPECT_EQ(regions("graph g(%x: f32[N,4,8,8]) {\n"
                    "  @w : f32[6,4,3,3]\n  @m : f32[6]\n  @v : f32[6]\n  @g : f32[6]\n  @b : f32[6]\n"
                    "  %1 = conv(%x, @w, pad=1) : f32[N,6,8,8]\n"
                    "  %2 = batch_norm(%1, @m, @v, @g, @b) : f32[N,6,8,8]\n"
                    "  %3 = relu(%2) : f32[N,6,8,8]\n"
                    "  %4 = max_pool(%3, kernel=2, stride=2) : f32[N,6,4,4]\n"
                    "  return %4\n}\n"),
            (Regions{{"conv+relu", {"conv", "batch_norm", "relu"}}, {"max_pool", {"max_pool"}}}));
}

TEST(Regions, ARaisedOperatorReplacesItsParts) {
  const auto found = regions(
      "graph g(%x: f32[N,8]) {\n"
      "  %1 = mul(%x, 0.70710678) : f32[N,8]\n  %2 = erf(%1) : f32[N,8]\n  %3 = add(%2, 1) : f32[N,8]\n"
      "  %4 = mul(%x, %3) : f32[N,8]\n  %5 = mul(%4, 0.5) : f32[N,8]\n  return %5\n}\n");
  EXPECT_EQ(found, (Regions{{"gelu", {"mul", "erf", "add", "mul", "mul"}}}));
}

TEST(Regions, WhatNothingNeedsBelongsToNothing) {
  EXPECT_EQ(regions("graph g(%x: f32[N,8]) {\n"
                    "  %1 = exp(%x) : f32[N,8]\n  %2 = log(%x) : f32[N,8]\n  return %2\n}\n"),
            (Regions{{"log", {"log"}}, {"nothing", {"exp"}}}));
}

TEST(Regions, ASharedOperandBelongsToTheFirstThatNeedsIt) {
  const auto found = regions(
      "graph g(%x: f32[N,8]) {\n  @w : f32[8,8]\n"
      "  %1 = linear(%x, @w) : f32[N,8]\n  %2 = relu(%1) : f32[N,8]\n"
      "  %3 = linear(%2, @w) : f32[N,8]\n  %4 = add(%3, %2) : f32[N,8]\n  return %4\n}\n");
  EXPECT_EQ(found, (Regions{{"linear+relu", {"linear", "relu"}}, {"linear+add", {"linear", "add"}}}));
}

}  // namespace
}  // namespace tenon
