#include "check/golden_graph.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace tenon {
namespace {

constexpr const char* fused = R"(graph net(%x: f32[1,3,8,8]) {
  @w : f32[4,3,3,3]
  %1 = fused conv(%x, @w, pad=1) { relu } : f32[1,4,8,8]  # stem.{conv,act}
  %2 = sigmoid(%1) : f32[1,4,8,8]  # gate
  return %2
}
)";
constexpr const char* unfused = R"(graph net(%x: f32[1,3,8,8]) {
  @w : f32[4,3,3,3]
  %1 = conv(%x, @w, pad=1) : f32[1,4,8,8]  # stem.conv
  %2 = relu(%1) : f32[1,4,8,8]  # stem.act
  %3 = sigmoid(%2) : f32[1,4,8,8]  # gate
  return %3
}
)";

TEST(GoldenGraph, IsEqualToItselfWhateverTheValuesAreCalled) {
  EXPECT_FALSE(compare_graphs(*parse(fused), *parse(fused), {}, {}));
}

TEST(GoldenGraph, ALostFusionIsNamedWithWhatStandsInItsPlace) {
  const FuseReport report{.refusals = {{"epilogue", "stem.conv (net.py:3)", "the result is used twice"},
                                       {"epilogue", "other (net.py:9)", "unrelated"}}};
  const auto f = compare_graphs(*parse(fused), *parse(unfused), report, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->message, "1 fused group is no longer made, the first is fused conv+relu at stem.{conv,act}");
  EXPECT_NE(f->details.find("lost: fused conv+relu at stem.{conv,act}\n"
                            "  now: conv at stem.conv; relu at stem.act\n"
                            "  because: epilogue refused: the result is used twice\n"),
            std::string::npos)
      << f->details;
  EXPECT_EQ(f->data["operators"]["relu"]["now"], 1);
}

TEST(GoldenGraph, SaysWhatIsSwitchedOff) {
  const auto f = compare_graphs(*parse(fused), *parse(unfused), {}, {.fuse = false});
  ASSERT_TRUE(f);
  EXPECT_NE(f->details.find("case.toml switches off all fusion"), std::string::npos) << f->details;
}

TEST(GoldenGraph, ANewFusionIsAChangeToo) {
  const auto f = compare_graphs(*parse(unfused), *parse(fused), {}, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->message, "the fused graph is another one: 2 nodes gone, 1 new");
}

TEST(GoldenGraph, CountsWrittenByHandHoldForTheKindsTheyName) {
  EXPECT_FALSE(compare_counts({{"fused conv+relu", 1}, {"conv", 0}}, *parse(fused), {}, {}));
  const auto f = compare_counts({{"fused conv+relu", 1}}, *parse(unfused), {}, {});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->message, "there are 0 of fused conv+relu, case.toml asks for 1");
}

}  // namespace
}  // namespace tenon
