// Properties that hold for any graph: its text reads back, a copy is the same graph.
#include <gtest/gtest.h>

#include <random>

#include "ir/clone.h"
#include "ir/define.h"
#include "ir/ops/activation.h"
#include "ir/ops/functions.h"
#include "ir/ops/shape.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"

namespace tenon {
namespace {

/// Chains of pointwise operators, reductions, transposes and concats over f32[N,4] values.
std::unique_ptr<Graph> random_graph(unsigned seed) {
  std::mt19937 random(seed);
  auto graph = std::make_unique<Graph>("random");
  const InsertionPoint point{
      &graph->body(), nullptr, {.modules = {"net.layer"}, .file = "net.py", .line = 7}};
  const Type type{DType::f32, {Dim::symbol("N"), 4}};
  std::vector<Ref> values = {Ref(graph->body().add_parameter(type, "x"), point),
                             Ref(graph->body().add_parameter(type, "odd name"), point),
                             Ref(graph->add_weight("w.0", Type{DType::f32, {4}}), point)};
  const auto any_value = [&] { return values[random() % values.size()]; };
  const auto full = [&] {
    const Ref v = any_value();
    return v.rank() == 2 ? v : v + values[0];
  };
  for (int i = 0; i < 12; ++i) {
    switch (random() % 9) {
      case 0: values.push_back(any_value() + any_value()); break;
      case 1: values.push_back(full() * std::uniform_real_distribution<double>(-2, 2)(random)); break;
      case 2: values.push_back(apply(Relu{}, {any_value()})); break;
      case 3: values.push_back(apply(LeakyRelu{.slope = 0.25}, {any_value()})); break;
      case 4: values.push_back(apply(Gelu{.approximate = GeluForm::tanh}, {full()})); break;
      case 5: values.push_back(softmax(full(), 1)); break;
      case 6: values.push_back(full() - mean(full(), {1}, true)); break;
      case 7: {
        const Ref both = apply(Concat{.axis = 1}, {full(), full()});
        values.push_back(apply(Slice{.axis = 1, .start = 2, .end = 6}, {both}));
        break;
      }
      default: values.push_back(permute(permute(full(), {1, 0}), {1, 0}));
    }
  }
  graph->body().add_result(values.back().value());
  graph->body().add_result(any_value().value());
  graph->symbols["N"] = {.min = 2, .max = 64, .note = "dim 0 of x"};
  return graph;
}

TEST(RandomGraph, TextReadsBack) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    const auto graph = random_graph(seed);
    verify(*graph);
    for (const PrintOptions options : {PrintOptions{}, PrintOptions{.lines = true}}) {
      const std::string text = print(*graph, options);
      const auto again = parse(text);
      verify(*again);
      ASSERT_EQ(print(*again, options), text);
    }
    ASSERT_EQ(print(*clone(*graph)), print(*graph));
  }
}

TEST(RandomGraph, EveryCutTextIsAnError) {
  const std::string text = print(*random_graph(1));
  for (std::size_t n = 0; n + 2 < text.size(); ++n)
    EXPECT_THROW(parse(text.substr(0, n)), Error) << text.substr(0, n);
}

}  // namespace
}  // namespace tenon
