// The schema tenon.graph/1 by an example: docs/graph_json.md.
#include "exporter/graph_json.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace tenon::exporter {
namespace {

using Json = nlohmann::ordered_json;

TEST(GraphJson, HoldsTheWholeGraph) {
  const auto graph = parse(R"(graph g(%x: f32[N,2]) where N in 1..8 "dim 0 of x" {
  @w : f32[2]
  %1 = clamp(%x, min=-inf) : f32[N,2]  # head (net.py:3)
  %2 = fused { add(%1, @w); mul(_, 0.5) } : f32[N,2]
  return %2 as "y"
}
)");
  const Json j = graph_json(*graph);
  EXPECT_EQ(j["schema"], "tenon.graph/1");
  EXPECT_EQ(j["symbols"], Json::parse(R"({"N": {"min": 1, "max": 8, "note": "dim 0 of x"}})"));
  EXPECT_EQ(j["weights"], Json::parse(R"([{"name": "@w", "dtype": "f32", "shape": [2]}])"));
  EXPECT_EQ(j["inputs"], Json::parse(R"([{"name": "%x", "dtype": "f32", "shape": ["N", 2]}])"));
  EXPECT_EQ(j["outputs"], Json::parse(R"([{"name": "y", "value": "%2"}])"));
  EXPECT_EQ(j["nodes"][0], Json::parse(R"({
    "op": "clamp", "attributes": {"min": "-inf", "max": null}, "inputs": ["%x"],
    "outputs": [{"name": "%1", "dtype": "f32", "shape": ["N", 2]}], "regions": [],
    "source": {"modules": ["head"], "file": "net.py", "line": 3}})"));
  const Json& body = j["nodes"][1]["regions"][0];
  EXPECT_EQ(body["nodes"][0]["op"], "add");
  EXPECT_EQ(body["nodes"][1]["inputs"][1], Json::parse(R"({"literal": 0.5, "dtype": "f32"})"));
}

}  // namespace
}  // namespace tenon::exporter
