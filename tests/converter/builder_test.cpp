// The graph's writer: names of the sizes that nodes give.
#include "converter/builder.h"

#include <gtest/gtest.h>

#include "ir/ops/data_size.h"

namespace tenon::converter {
namespace {

TEST(Builder, SizesOfOperatorsAndOfRegionsShareTheirNames) {
  Graph graph;
  Builder build(graph);
  const Ref x = build.ref(graph.body().add_parameter({DType::f32, {Dim::symbol("N")}}, "x"));
  EXPECT_EQ(build.new_size().str(), "?0");
  EXPECT_EQ(build.sized(NonZero{}, {x})[0].shape()[0].str(), "?1");
  EXPECT_EQ(build.new_size().str(), "?2");
  EXPECT_EQ(build.sized(NonZero{}, {x})[0].shape()[0].str(), "?1");
}

}  // namespace
}  // namespace tenon::converter
