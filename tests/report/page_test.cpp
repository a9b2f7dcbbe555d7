// Pages and drawings as text; browsers and Graphviz open them in tests/python.
#include <gtest/gtest.h>

#include "report/dot.h"
#include "report/html.h"
#include "tests/fusion/rewriting.h"

namespace tenon {
namespace {

TEST(Html, DataCannotLeaveItsScript) {
  const std::string text = html({{"path", "</script><!-- <b>"}});
  const std::size_t begin = text.find("id=\"data\">"), end = text.find("</script>", begin);
  const std::string data = text.substr(begin + 10, end - begin - 10);
  EXPECT_EQ(data.find('<'), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(data)["model"]["path"], "</script><!-- <b>");
}

TEST(Html, NamesThatAreNoUtf8AreReplaced) { EXPECT_NO_THROW(html({{"path", "caf\xe9"}})); }

TEST(Html, NothingIsLeftToFill) {
  const std::string text = html(nullptr);
  for (const char* mark : {"@style@", "@script@", "@data@"}) EXPECT_EQ(text.find(mark), std::string::npos);
  for (const char* outside : {"http://", "https://", "src=", "@import", "url("})
    for (std::size_t at = text.find(outside); at != std::string::npos; at = text.find(outside, at + 1))
      EXPECT_EQ(text.substr(at, 26), "http://www.w3.org/2000/svg")
          << "the name of SVG is all it knows of others";
}

const std::string network =
    "graph g(%x: f32[N,4]) {\n  @w : f32[8,4]\n"
    "  %1 = linear(%x, @w) : f32[N,8]  # a\n  %2 = relu(%1) : f32[N,8]  # b\n  %3 = exp(%2) : f32[N,8]\n"
    "  %4 = sum(%3, axes=[0]) : f32[8]\n  return %4\n}\n";

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t n = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

TEST(Dot, ClustersHoldWhatOneNodeReplaced) {
  const auto imported = testing::graph_with_data(network);
  number_origins(*imported);
  const auto fused = clone(*imported);
  fuse(*fused);
  const std::string text = dot(*imported, fused.get());
  EXPECT_EQ(count(text, "subgraph cluster_"), 1u);
  EXPECT_NE(text.find("label=\"linear+relu+exp\""), std::string::npos);
  EXPECT_EQ(count(text, " -> "), 5u);
}

TEST(Dot, AFusedNodeIsAClusterOfItsMembers) {
  const auto graph = testing::graph_with_data(network);
  fuse(*graph);
  const std::string text = dot(*graph);
  EXPECT_EQ(count(text, "subgraph cluster_"), 1u);
  EXPECT_EQ(count(text, " -> "), 5u) << "the same values";
}

}  // namespace
}  // namespace tenon
