// Fusing any graph of pointwise operators, reductions, matmuls and what moves rows keeps its results, at
// every number of rewrites. Between them stand nodes of two results, of none, and of regions.
#include <random>

#include "ir/clone.h"
#include "tests/fusion/rewriting.h"

namespace tenon::testing {
namespace {

std::string random_text(unsigned seed) {
  std::mt19937 random(seed);
  std::string text = "graph random(%x: f32[N,4], %y: f32[N,4]) {\n  @w : f32[4,4]\n  @b : f32[4]\n";
  std::vector<std::string> names = {"%x", "%y"};
  const auto any = [&] { return names[random() % names.size()]; };
  for (int i = 1; i <= 10; ++i) {
    const std::string y = std::to_string(i), x = any();
    const std::string calls[] = {
        "%Y = add(%X, @b) : f32[N,4]",
        "%Y = mul(%X, " + any() + ") : f32[N,4]",
        "%Y = relu(%X) : f32[N,4]",
        "%Y = linear(%X, @w) : f32[N,4]",
        "%Y = softmax(%X, axis=1) : f32[N,4]",
        "%Y = layer_norm(%X) : f32[N,4]",
        "%Y = mul(%X, 0.5) : f32[N,4]",
        "%Y = tanh(%X) : f32[N,4]",
        "%Y = sub(%X, " + any() + ") : f32[N,4]",
        "%Y = pad(%X, pads=[1,0,-1,0]) : f32[N,4]",
        "%Y, %Yplaces = sort(%X) : f32[N,4], i64[N,4]",
        "%Yless = less(%X, 0.5) : bool[N,4]\n"
        "  %Ymore = logical_not(%Yless) : bool[N,4]\n"
        "  %Yeither = logical_or(%Yless, %Ymore) : bool[N,4]\n"
        "  %Yall = all(%Yeither, axes=[0,1]) : bool[]\n"
        "  check(%Yall, message=\"an element is neither\")\n"
        "  %Yany = any(%Yless, axes=[0,1]) : bool[]\n"
        "  %Y = if(%Yany, %X) (%a: f32[N,4]) {\n    return %a\n  } (%b: f32[N,4]) {\n"
        "    %Yt = tanh(%b) : f32[N,4]\n    return %Yt\n  } : f32[N,4]",
    };
    std::string call = calls[random() % std::size(calls)];
    for (const auto& [name, is] : {std::pair{"%X", x}, {"%Y", "%v" + y}})
      for (auto at = call.find(name); at != std::string::npos; at = call.find(name)) call.replace(at, 2, is);
    text += "  " + call + "\n";
    names.push_back("%v" + y);
  }
  return text + "  return %v10, " + any() + "\n}\n";
}

/// What the body's nodes compute, by origin.
std::map<int, Tensor> values_by_origin(const Graph& graph) {
  std::map<int, Tensor> values;
  evaluate(graph, input_values(graph, {}, 7, {{"N", 3}}),
           [&](const Node& node, std::span<const Tensor> outputs) {
             if (&node.parent() != &graph.body()) return;
             for (std::size_t i = 0; i < outputs.size(); ++i)
               if (node.output(i)->origin >= 0) values[node.output(i)->origin] = outputs[i].clone();
           });
  return values;
}

TEST(RandomFusion, KeepsResults) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(random_text(seed));
    const auto original = graph_with_data(random_text(seed));
    const auto fused = clone(*original);
    const auto total = static_cast<int>(fuse(*fused).rewrites.size());
    expect_equal_results(*original, *fused, 1e-5);
    const auto part = clone(*original);
    fuse(*part, {.stop_after = total / 2});
    expect_equal_results(*original, *part, 1e-5);
  }
}

TEST(RandomFusion, KeepsTrackOfTheValuesItKeeps) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(random_text(seed));
    const auto original = graph_with_data(random_text(seed));
    number_origins(*original);
    const auto fused = clone(*original);
    fuse(*fused);
    const auto before = values_by_origin(*original);
    for (const auto& [origin, value] : values_by_origin(*fused))
      EXPECT_TRUE(compare(value, before.at(origin)).within(1e-5)) << "value " << origin;
    for (const Value* result : fused->body().results()) {
      if (result->kind() == Value::Kind::result) { EXPECT_GE(result->origin, 0); }
    }
  }
}

}  // namespace
}  // namespace tenon::testing
