// Convolutions of one pixel run before the resizes that they follow.
#include "ir/ops/linear.h"
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(SinkResizes, SplitsAConvolutionOfJoinedMaps) {
  expect_fused(R"(graph head(%a: f32[N,8,4,4], %x: f32[N,112,2,2]) {
  @w : f32[6,120,1,1]
  @b : f32[6]
  %1 = interpolate(%x, mode="linear", output=[4,4]) : f32[N,112,4,4]
  %2 = concat(%a, %1, axis=1) : f32[N,120,4,4]
  %3 = conv(%2, @w, @b) : f32[N,6,4,4]
  %4 = relu(%3) : f32[N,6,4,4]
  return %4
}
)",
               R"(graph head(%a: f32[N,8,4,4], %x: f32[N,112,2,2]) {
  %1 = conv(%x, @w') : f32[N,6,2,2]
  %2 = interpolate(%1, mode="linear", output=[4,4]) : f32[N,6,4,4]
  %3 = fused conv(%a, @w'.1, @b) { add(_, %2); relu } : f32[N,6,4,4]
  return %3
}
)");
}

TEST(SinkResizes, KeepsPartsThatDoNotGrowTogether) {
  expect_fused(R"(graph head(%a: f32[1,8,6], %x: f32[1,112,1], %c: f32[1,4,9], %d: f32[1,4,6]) {
  @w : f32[6,128,1]
  %1 = interpolate(%x, mode="nearest", output=6) : f32[1,112,6]
  %2 = interpolate(%c, mode="linear", output=6) : f32[1,4,6]
  %3 = interpolate(%d, mode="linear", output=6) : f32[1,4,6]
  %4 = concat(%a, %1, %2, %3, axis=1) : f32[1,128,6]
  %5 = conv(%4, @w) : f32[1,6,6]
  return %5
}
)",
               R"(graph head(%a: f32[1,8,6], %x: f32[1,112,1], %c: f32[1,4,9], %d: f32[1,4,6]) {
  %1 = interpolate(%c, mode="linear", output=6) : f32[1,4,6]
  %2 = conv(%x, @w') : f32[1,6,1]
  %3 = interpolate(%2, output=6) : f32[1,6,6]
  %4 = concat(%a, %1, %d, axis=1) : f32[1,16,6]
  %5 = fused conv(%4, @w'.1) { add(_, %3) } : f32[1,6,6]
  return %5
}
)");
}

TEST(SinkResizes, OfEveryMode) {
  for (const char* mode : {"nearest", "nearest_exact", "linear", "cubic"})
    for (const char* corners : {"false", "true"}) {
      if (*mode == 'n' && *corners == 't') continue;
      const auto head = graph_with_data(std::string(R"(graph head(%a: f32[2,8,5,6], %x: f32[2,112,2,3]) {
  @w : f32[6,120,1,1]
  %1 = interpolate(%x, mode=")") + mode +
                                        R"(", output=[5,6], align_corners=)" + corners +
                                        R"() : f32[2,112,5,6]
  %2 = concat(%1, %a, axis=1) : f32[2,120,5,6]
  %3 = conv(%2, @w) : f32[2,6,5,6]
  return %3
}
)");
      const auto sunk = clone(*head);
      fuse(*sunk);
      EXPECT_EQ(sunk->body().nodes().size(), 3U) << mode;
      expect_equal_results(*head, *sunk);
    }
}

TEST(SinkResizes, TakesTheLinearThatMadeTheMap) {
  expect_fused(R"(graph head(%a: f32[N,8,4,4], %x: f32[N,4,3]) {
  @p : f32[112,3]
  @q : f32[112]
  @w : f32[6,120,1,1]
  @b : f32[6]
  %1 = linear(%x, @p, @q) : f32[N,4,112]
  %2 = permute(%1, axes=[0,2,1]) : f32[N,112,4]
  %3 = reshape(%2, shape=[N,112,2,2]) : f32[N,112,2,2]
  %4 = interpolate(%3, mode="linear", output=[4,4]) : f32[N,112,4,4]
  %5 = concat(%4, %a, axis=1) : f32[N,120,4,4]
  %6 = conv(%5, @w, @b) : f32[N,6,4,4]
  return %6
}
)",
               R"(graph head(%a: f32[N,8,4,4], %x: f32[N,4,3]) {
  %1 = permute(%x, axes=[0,2,1]) : f32[N,3,4]
  %2 = reshape(%1, shape=[N,3,2,2]) : f32[N,3,2,2]
  %3 = conv(%2, @w'', @q') : f32[N,6,2,2]
  %4 = interpolate(%3, mode="linear", output=[4,4]) : f32[N,6,4,4]
  %5 = fused conv(%a, @w'.1, @b) { add(_, %4) } : f32[N,6,4,4]
  return %5
}
)");
}

// Convolutions keep their weights in float32.
TEST(SinkResizes, KeepsLinearsWhoseWeightsBecomeIntegers) {
  const auto graph = graph_with_data(R"(graph head(%x: f32[1,4,3]) {
  @p : f32[112,3]
  @w : f32[6,112,1,1]
  %1 = linear(%x, @p) : f32[1,4,112]
  %2 = permute(%1, axes=[0,2,1]) : f32[1,112,4]
  %3 = reshape(%2, shape=[1,112,2,2]) : f32[1,112,2,2]
  %4 = conv(%3, @w) : f32[1,6,2,2]
  return %4
}
)");
  for (const auto& [precision, linears] : {std::pair{Precision::kept, 0}, {Precision::int8w, 1}}) {
    const auto fused = clone(*graph);
    fuse(*fused, {.fuse = false, .precision = precision});
    EXPECT_EQ(std::ranges::count_if(fused->body().nodes(),
                                    [](const std::unique_ptr<Node>& n) { return n->is<Linear>(); }),
              linears);
  }
}

struct Left {
  const char* why;
  std::string resize = R"(interpolate(%x, mode="linear", output=[4,4]) : f32[1,112,4,4])";
  std::string conv = "@w) : f32[1,6,4,4]";
  std::string result = "%3";
};

TEST(SinkResizes, LeavesWhatWouldNotPayOrIsReadElsewhere) {
  for (const Left& left : {Left{.why = "the resized map is a result, too", .result = "%3, %1"},
                           {.why = "the map shrinks",
                           .resize = R"(interpolate(%y, mode="linear", output=[4,4]) : f32[1,112,4,4])"},
                           {.why = "the kernel has several taps", .conv = "@v) : f32[1,6,2,2]"},
                           {.why = "the convolution has strides", .conv = "@w, stride=[2,2]) : f32[1,6,2,2]"},
                           {.why = "it pads", .conv = "@w, pad=[1,1]) : f32[1,6,6,6]"},
                           {.why = "it has groups", .conv = "@g, groups=2) : f32[1,6,4,4]"},
                           {.why = "its weights are computed", .conv = "%c) : f32[1,6,4,4]"}}) {
    const auto graph = graph_with_data(
        R"(graph head(%a: f32[1,8,4,4], %x: f32[1,112,2,2], %y: f32[1,112,9,9], %c: f32[6,120,1,1]) {
  @v : f32[6,120,3,3]
  @w : f32[6,120,1,1]
  @g : f32[6,60,1,1]
  %1 = )" +
        left.resize + R"(
  %2 = concat(%a, %1, axis=1) : f32[1,120,4,4]
  %3 = conv(%2, )" +
        left.conv + R"(
  return )" +
        left.result + R"(
}
)");
    fuse(*graph, {.fuse = false});
    EXPECT_EQ(graph->body().nodes().size(), 3U) << left.why;
  }
}

// Its neighbours count 0 times, which is no number where they are infinite.
TEST(SinkResizes, KeepsCubicResizesToTheSameSize) {
  const auto graph = graph_with_data(R"(graph head(%a: f32[1,8,4,4], %x: f32[1,112,2,2]) {
  @w : f32[6,120,1,1]
  %1 = interpolate(%a, mode="cubic", output=[4,4]) : f32[1,8,4,4]
  %2 = interpolate(%x, mode="linear", output=[4,4]) : f32[1,112,4,4]
  %3 = concat(%1, %2, axis=1) : f32[1,120,4,4]
  %4 = conv(%3, @w) : f32[1,6,4,4]
  return %4
}
)");
  fuse(*graph, {.fuse = false});
  EXPECT_EQ(graph->body().nodes().size(), 5U);
}

std::string head(const std::string& map, const std::string& channels, const std::string& resized) {
  const std::string joined = std::to_string(8 + std::stoi(channels));
  return "graph head(%a: f32[1,8" + resized + "], %x: f32[1," + channels + map + R"(]) {
  @w : f32[6,)" +
         joined + R"(,1,1]
  %1 = interpolate(%x, mode="linear", output=[)" +
         resized.substr(1) + "]) : f32[1," + channels + resized + R"(]
  %2 = concat(%a, %1, axis=1) : f32[1,)" +
         joined + resized + R"(]
  %3 = conv(%2, @w) : f32[1,6)" +
         resized + R"(]
  return %3
}
)";
}

TEST(SinkResizes, SaysWhyItLeavesAResize) {
  const std::string few = "no part grows from so few pixels of so many channels that it would pay";
  expect_refused(head(",2,2", "64", ",4,4"), "resize_of_convolution", few);
  expect_refused(head(",9,9", "112", ",4,4"), "resize_of_convolution", few);
  expect_refused(head(",2,W", "112", ",4,N"), "resize_of_convolution", "the sizes of the maps are not known");
}

}  // namespace
}  // namespace tenon::testing
