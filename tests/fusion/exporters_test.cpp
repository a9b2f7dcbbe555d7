// What exporters write around an operator goes: groups normalised one by one, zeros around a map, masks read
// place by place, conditions that are true everywhere.
#include <map>

#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

TEST(Exporters, GroupsNormalisedOneByOneAreAGroupNorm) {
  const std::string whole = R"(graph g(%x: f32[N,6,4,4]) {
  @w : f32[6]
  @b : f32[6]
  %1 = group_norm(%x, @w, @b, groups=3) : f32[N,6,4,4]
  return %1
}
)";
  const std::string behind = R"(graph g(%x: f32[N,6,4,4]) {
  @w : f32[6,1,1]
  @b : f32[1,6,1,1]
  %1 = reshape(%x, shape=[N,3,32]) : f32[N,3,32]
  %2 = group_norm(%1, groups=3) : f32[N,3,32]
  %3 = reshape(%2, shape=[N,6,4,4]) : f32[N,6,4,4]
  %4 = mul(@w, %3) : f32[N,6,4,4]
  %5 = add(%4, @b) : f32[N,6,4,4]
  return %5
}
)";
  const auto fused = [](const std::string& text) {
    const auto graph = graph_with_data(text);
    fuse(*graph);
    return body_text(*graph);
  };
  std::string same = fused(behind);
  for (const char* name : {"@w'", "@b'"}) same.replace(same.find(name), 3, std::string(name, 2));
  EXPECT_EQ(same, fused(whole));
}

TEST(Exporters, AnInstanceNormOfOnesAndZerosIsNone) {
  const std::string text = R"(graph g(%x: f32[N,6,4]) {
  @ones : f32[3]
  @zeros : f32[3]
  %1 = reshape(%x, shape=[N,3,8]) : f32[N,3,8]
  %2 = group_norm(%1, @ones, @zeros, groups=3) : f32[N,3,8]
  %3 = reshape(%2, shape=[N,6,4]) : f32[N,6,4]
  return %3
}
)";
  const auto filled = [&](double one) {
    auto graph = graph_with_data(text);
    for (const auto& w : graph->weights()) {
      Tensor t = Tensor::empty(DType::f32, {3});
      for (std::int64_t i = 0; i < 3; ++i) t.set_double({{i}}, w->name() == "ones" ? one : 0);
      graph->set_weight_data(w.get(), t);
    }
    return graph;
  };
  const auto original = filled(1), graph = filled(1), other = filled(1.5);
  fuse(*graph);
  expect_equal_results(*original, *graph);
  EXPECT_EQ(body_text(*graph), R"(graph g(%x: f32[N,6,4]) {
  %1 = group_norm(%x, groups=3) : f32[N,6,4]
  return %1
}
)");
  fuse(*other);
  EXPECT_NE(body_text(*other).find("@ones"), std::string::npos);
}

// The samples of a batch are not normalised together, and channels of two groups not apart.
TEST(Exporters, OtherGroupsThanTheTensorsStay) {
  for (const std::string groups : {"shape=[2*N,3,16]", "shape=[N,12,8]"}) {
    const bool batches = groups == "shape=[2*N,3,16]";
    const std::string type = batches ? "f32[2*N,3,16]" : "f32[N,12,8]";
    const auto original =
        graph_with_data("graph g(%x: f32[N,6,16]) {\n  %1 = reshape(%x, " + groups + ") : " + type +
                        "\n  %2 = group_norm(%1, groups=" + (batches ? "3" : "12") + ") : " + type +
                        "\n  %3 = reshape(%2, shape=[N,6,16]) : f32[N,6,16]\n  return %3\n}\n");
    const auto graph = clone(*original);
    fuse(*graph);
    EXPECT_NE(body_text(*graph).find("reshape"), std::string::npos);
    expect_equal_results(*original, *graph);
  }
}

TEST(Exporters, ZerosAroundAMapAreThePaddingOfItsConvolution) {
  expect_same({R"(graph g(%x: f32[N,2,5,6]) {
  @w : f32[4,2,3,3]
  @b : f32[4]
  %1 = conv(%x, @w, @b, stride=2, pad=[1,2,2,4]) : f32[N,4,3,5]
  return %1
}
)",
               R"(graph g(%x: f32[N,2,5,6]) {
  @w : f32[4,2,3,3]
  @b : f32[4]
  %1 = pad(%x, pads=[0,0,0,1,0,0,1,3]) : f32[N,2,6,10]
  %2 = conv(%1, @w, @b, stride=2, pad=1) : f32[N,4,3,5]
  return %2
}
)"});
  expect_same({R"(graph g(%x: f32[N,2,7]) {
  @w : f32[4,1,3]
  %1 = conv(%x, @w, pad=2, groups=2) : f32[N,4,9]
  return %1
}
)",
               R"(graph g(%x: f32[N,2,7]) {
  @w : f32[4,1,3]
  %1 = pad(%x, pads=[0,0,2,0,0,2]) : f32[N,2,11]
  %2 = conv(%1, @w, groups=2) : f32[N,4,9]
  return %2
}
)"});
}

// Other numbers than 0, other axes, what is cut off, and a padded map that something else reads.
TEST(Exporters, OtherPaddingStaysAsItIs) {
  for (const std::string pad :
       {"pads=[0,0,1,0,0,1], value=1.0", "pads=[0,0,1,0,0,1], mode=\"reflect\"", "pads=[0,0,-1,0,0,3]"}) {
    const std::string text = "graph g(%x: f32[N,2,6]) {\n  @w : f32[4,2,3]\n  %1 = pad(%x, " + pad +
                             ") : f32[N,2,8]\n  %2 = conv(%1, @w) : f32[N,4,6]\n  return %2\n}\n";
    const auto graph = graph_with_data(text);
    fuse(*graph);
    EXPECT_NE(body_text(*graph).find("= pad("), std::string::npos) << body_text(*graph);
  }
  const std::string both = R"(graph g(%x: f32[N,2,6]) {
  @w : f32[4,2,3]
  %1 = pad(%x, pads=[0,0,1,0,0,1]) : f32[N,2,8]
  %2 = conv(%1, @w) : f32[N,4,6]
  return %1, %2
}
)";
  const auto graph = graph_with_data(both);
  fuse(*graph);
  EXPECT_NE(body_text(*graph).find("= pad("), std::string::npos);
}

TEST(Exporters, BitsOfBoolsAreTruthValues) {
  expect_same({R"(graph g(%x: bool[N,4], %y: bool[4]) {
  %1 = logical_and(%x, %y) : bool[N,4]
  %2 = logical_or(%1, %y) : bool[N,4]
  %3 = logical_xor(%2, %x) : bool[N,4]
  return %3
}
)",
               R"(graph g(%x: bool[N,4], %y: bool[4]) {
  %1 = bit_and(%x, %y) : bool[N,4]
  %2 = bit_or(%1, %y) : bool[N,4]
  %3 = bit_xor(%2, %x) : bool[N,4]
  return %3
}
)"});
}

/// The weights by name, each with these elements.
std::string fused_with(const std::string& text, const std::map<std::string, std::vector<double>>& elements) {
  const auto original = graph_with_data(text);
  for (const auto& w : original->weights()) {
    Tensor t = Tensor::empty(w->dtype(), *known_sizes(w->shape()));
    std::size_t next = 0;
    for_each_index(t.shape(), [&](std::span<const std::int64_t> at) {
      t.set_double(at, elements.at(w->name())[next++]);
    });
    original->set_weight_data(w.get(), t);
  }
  const auto graph = clone(*original);
  fuse(*graph);
  expect_equal_results(*original, *graph);
  return body_text(*graph);
}

TEST(Exporters, AConditionThatIsTrueEverywhereIsNone) {
  const std::string text = R"(graph g(%x: bool[N,2], %y: f32[N,2]) {
  @c : bool[2]
  %1 = logical_and(@c, %x) : bool[N,2]
  %2 = where(@c, %y, 0.0:f32) : f32[N,2]
  %3 = where(%1, %2, 1.0:f32) : f32[N,2]
  return %3
}
)";
  EXPECT_EQ(fused_with(text, {{"c", {1, 1}}}), R"(graph g(%x: bool[N,2], %y: f32[N,2]) {
  %1 = where(%x, %y, 1.0:f32) : f32[N,2]
  return %1
}
)");
  EXPECT_NE(fused_with(text, {{"c", {1, 0}}}).find("logical_and"), std::string::npos);
}

TEST(Exporters, IndicesOfEveryPlaceInOrderAreNone) {
  const std::string text = R"(graph g(%x: f32[2,3]) {
  @rows : i64[2,1,1]
  @columns : i64[1,3]
  %1 = index(%x, @rows, @columns, axes=[0,1]) : f32[2,1,3]
  return %1
}
)";
  EXPECT_EQ(fused_with(text, {{"rows", {0, 1}}, {"columns", {0, -2, 2}}}), R"(graph g(%x: f32[2,3]) {
  %1 = reshape(%x, shape=[2,1,3]) : f32[2,1,3]
  return %1
}
)");
  EXPECT_NE(fused_with(text, {{"rows", {1, 0}}, {"columns", {0, 1, 2}}}).find("index("), std::string::npos);
  EXPECT_NE(fused_with(text, {{"rows", {0, 1}}, {"columns", {0, 1, 1}}}).find("index("), std::string::npos);
}

// [0,3] lies outside, though a row of three has its next element there.
TEST(Exporters, IndicesBeyondAnAxisStay) {
  const auto graph = graph_with_data(R"(graph g(%x: f32[2,3]) {
  @rows : i64[6]
  @columns : i64[6]
  %1 = index(%x, @rows, @columns, axes=[0,1]) : f32[6]
  return %1
}
)");
  for (const auto& w : graph->weights()) {
    Tensor t = Tensor::empty(DType::i64, {6});
    for (std::int64_t i = 0; i < 6; ++i) t.set_int({{i}}, w->name() == "rows" ? 0 : i);
    graph->set_weight_data(w.get(), t);
  }
  fuse(*graph);
  EXPECT_NE(body_text(*graph).find("index("), std::string::npos);
}

TEST(Exporters, ASelectionOfEveryPlaceInOrderIsNone) {
  const std::string text = R"(graph g(%x: f32[N,4]) {
  @i : i64[2,2]
  %1 = index_select(%x, @i, axis=1) : f32[N,2,2]
  return %1
}
)";
  EXPECT_EQ(fused_with(text, {{"i", {0, 1, 2, 3}}}), R"(graph g(%x: f32[N,4]) {
  %1 = reshape(%x, shape=[N,2,2]) : f32[N,2,2]
  return %1
}
)");
  EXPECT_NE(fused_with(text, {{"i", {0, 1, 3, 2}}}).find("index_select("), std::string::npos);
}

// Whether a row that sees nothing is NaN is no question where the lowest number hides keys, one where minus
// infinity does.
TEST(Exporters, HiddenByTheLowestNumberIsNotNaN) {
  const auto attention = [](const std::string& hidden) {
    const auto graph = graph_with_data(R"(graph g(%q: f32[N,2,3,4], %see: bool[N,1,3,3]) {
  %1 = where(%see, 0.5:f32, )" + hidden +
                                       R"(:f32) : f32[N,1,3,3]
  %2 = attention(%q, %q, %q, %1, nan_rows=true) : f32[N,2,3,4]
  return %2
}
)");
    fuse(*graph);
    return body_text(*graph);
  };
  EXPECT_EQ(attention("-1e30").find("nan_rows"), std::string::npos);
  EXPECT_NE(attention("-inf").find("nan_rows"), std::string::npos);
}

}  // namespace
}  // namespace tenon::testing
