// Fusing any graph of pointwise operators, reductions and matmuls keeps its results, at every number of
// rewrites.
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
    const std::string calls[] = {
        "add(" + any() + ", @b)",
        "mul(" + any() + ", " + any() + ")",
        "relu(" + any() + ")",
        "linear(" + any() + ", @w)",
        "softmax(" + any() + ", axis=1)",
        "layer_norm(" + any() + ")",
        "mul(" + any() + ", 0.5)",
        "tanh(" + any() + ")",
        "sub(" + any() + ", " + any() + ")",
    };
    text += "  %" + std::to_string(i) + " = " + calls[random() % std::size(calls)] + " : f32[N,4]\n";
    names.push_back("%" + std::to_string(i));
  }
  return text + "  return %10, " + any() + "\n}\n";
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
