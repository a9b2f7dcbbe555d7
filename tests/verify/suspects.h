// A small residual network, and a pipeline with a wrong rule.
#pragma once
#include <gtest/gtest.h>

#include "fusion/fuse.h"
#include "ir/clone.h"
#include "ir/ops/activation.h"
#include "ir/parse.h"
#include "runtime/inputs.h"
#include "tests/faults.h"

namespace tenon::testing {

inline constexpr const char* residual_net = R"(graph residual_net(%x: f32[N,3,20,20]) {
  @stem.weight : f32[16,3,3,3]
  @bn.mean : f32[16]
  @bn.var : f32[16]
  @bn.weight : f32[16]
  @bn.bias : f32[16]
  @a.weight : f32[16,16,3,3]
  @a.bias : f32[16]
  @b.weight : f32[16,16,1,1]
  @down.weight : f32[24,16,3,3]
  @fc.weight : f32[10,24]
  @fc.bias : f32[10]
  %1 = conv(%x, @stem.weight, pad=1) : f32[N,16,20,20] # stem
  %2 = batch_norm(%1, @bn.mean, @bn.var, @bn.weight, @bn.bias) : f32[N,16,20,20] # bn
  %3 = relu(%2) : f32[N,16,20,20] # relu
  %4 = max_pool(%3, kernel=3, stride=2, pad=1) : f32[N,16,10,10] # pool
  %5 = conv(%4, @a.weight, @a.bias, pad=1) : f32[N,16,10,10] # block.a
  %6 = relu(%5) : f32[N,16,10,10] # block.relu
  %7 = conv(%6, @b.weight) : f32[N,16,10,10] # block.b
  %8 = add(%7, %4) : f32[N,16,10,10] # block
  %9 = relu(%8) : f32[N,16,10,10] # block.out
  %10 = conv(%9, @down.weight, stride=2, pad=1) : f32[N,24,5,5] # down
  %11 = silu(%10) : f32[N,24,5,5] # act
  %12 = adaptive_avg_pool(%11, output=[1,1]) : f32[N,24,1,1] # avg
  %13 = reshape(%12, shape=[N,24]) : f32[N,24] # flat
  %14 = linear(%13, @fc.weight, @fc.bias) : f32[N,10] # fc
  return %14
}
)";

/// As the converter leaves a graph: with weights (those of variances positive) and numbered values.
inline std::shared_ptr<Graph> imported_graph(const std::string& text) {
  std::shared_ptr<Graph> graph = parse(text);
  std::uint64_t seed = 1;
  for (const auto& w : graph->weights()) {
    Tensor data = random_tensor(w->dtype(), *known_sizes(w->shape()), {0, 3}, seed++);
    for_each_index(data.shape(), [&](std::span<const std::int64_t> i) {
      const double v = data.get_double(i) / 4;
      data.set_double(i, w->name().ends_with("var") ? 0.5 + v * v : v);
    });
    graph->set_weight_data(w.get(), data);
  }
  number_origins(*graph);
  return graph;
}

inline std::shared_ptr<Graph> fused_graph(const Graph& imported, std::span<const Pass> passes = pipeline()) {
  std::shared_ptr<Graph> graph = clone(imported);
  fuse(*graph, {}, passes);
  return graph;
}

inline std::vector<Tensor> inputs_for(const Graph& graph, std::int64_t rows, std::uint64_t seed = 7) {
  return input_values(graph, {}, seed, {{"N", rows}});
}

/// Takes silu for relu, which it nearly is.
inline void silu_is_relu(Rewriter& rewriter) {
  Region& body = rewriter.graph().body();
  for (Node* node = body.nodes().front().get(); node; node = body.next(node)) {
    if (!node->is<Silu>() || !rewriter.allowed("silu_is_relu", *node)) continue;
    Node* wrong = body.insert(Relu{}, {node->input()}, node, node->source);
    replace_all_uses(node->output(), wrong->output());
    rewriter.record("silu_is_relu", node->source, wrong);
  }
}

/// The pipeline with this rule before the passes that group.
inline std::vector<Pass> pipeline_with_wrong_rule() {
  std::vector<Pass> passes(pipeline().begin(), pipeline().end());
  const auto first_grouping =
      std::find_if(passes.begin(), passes.end(), [](const Pass& p) { return p.groups; });
  passes.insert(first_grouping, {"wrong", {"silu_is_relu"}, silu_is_relu});
  return passes;
}

}  // namespace tenon::testing
