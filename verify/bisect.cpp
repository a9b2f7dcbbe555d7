#include "verify/bisect.h"

#include "ir/clone.h"
#include "ir/evaluate.h"
#include "ir/print.h"
#include "runtime/session.h"

namespace tenon {
namespace {

// LibTorch's values by module, in order; each is matched at most once.
class Taps {
 public:
  void add(const Tap& tap) { by_module_[tap.module].push_back({to_tensor(tap.tensor), false}); }

  /// nullopt when a value of this module equals `value`, or none has its shape and so could be compared.
  std::optional<Difference> unmatched(const std::string& module, const Tensor& value, double tolerance) {
    std::optional<Difference> least;
    for (auto& [tensor, taken] : by_module_[module]) {
      if (taken || tensor.shape() != value.shape() || tensor.dtype() != value.dtype()) continue;
      Difference d = compare(value, tensor);
      if (d.within(tolerance)) {
        taken = true;
        return std::nullopt;
      }
      if (!least || d.relative() < least->relative()) least = std::move(d);
    }
    return least;
  }

 private:
  std::map<std::string, std::vector<std::pair<Tensor, bool>>> by_module_;
};

std::string module_of(const Node& node) { return node.source.modules.empty() ? "" : node.source.modules[0]; }

std::optional<Divergence> first_wrong_import(const Model& model, TorchOracle& torch,
                                             std::span<const Tensor> inputs, double tolerance) {
  Taps taps;
  torch.taps(named_inputs(*model.imported, inputs), [&](const Tap& tap) {
    taps.add(tap);
    return true;
  });
  std::optional<Divergence> found;
  evaluate(*model.imported, inputs, [&](const Node& node, std::span<const Tensor> outputs) {
    if (found || outputs.size() != 1) return;
    if (auto d = taps.unmatched(module_of(node), outputs[0], tolerance))
      found = Divergence{Divergence::Stage::conversion, print(*model.imported, node, {.sources = false}),
                         node.source.str(), std::move(*d)};
  });
  return found;
}

std::optional<Divergence> first_wrong_rewrite(const Model& model, std::span<const Tensor> inputs,
                                              std::span<const Tensor> expected, double tolerance,
                                              FuseOptions options) {
  const auto differs = [&](int rewrites) -> std::optional<Difference> {
    const auto graph = clone(*model.imported);
    options.stop_after = rewrites;
    fuse(*graph, options);
    const std::vector<Tensor> outputs = evaluate(*graph, inputs);
    for (const OutputCheck& c : check_outputs(*graph, outputs, expected, tolerance))
      if (!c.ok) return c.difference;
    return std::nullopt;
  };
  int good = 0, bad = static_cast<int>(model.fusion.rewrites.size());
  std::optional<Difference> difference = bad ? differs(bad) : std::nullopt;
  if (!difference) return std::nullopt;
  while (bad - good > 1) {
    const int middle = (good + bad) / 2;
    if (auto d = differs(middle)) {
      bad = middle;
      difference = std::move(d);
    } else {
      good = middle;
    }
  }
  const Rewrite& r = model.fusion.rewrites[static_cast<std::size_t>(bad) - 1];
  return Divergence{Divergence::Stage::fusion,
                    fmt::format("rewrite {} ({}/{}): {}", r.number, r.pass, r.rule, r.text), r.place,
                    *difference};
}

// Every node's value becomes an output, so that kernels can be compared one by one.
std::optional<Divergence> first_wrong_kernel(const Graph& fused, std::span<const Tensor> inputs,
                                             double tolerance) {
  const std::shared_ptr<Graph> graph = clone(fused);
  graph->output_names.clear();
  graph->body().clear_results();
  std::vector<const Node*> nodes;
  std::vector<Tensor> expected;
  evaluate(*graph, inputs, [&](const Node& node, std::span<const Tensor> outputs) {
    if (outputs.size() != 1 || &node.parent() != &graph->body()) return;
    nodes.push_back(&node);
    expected.push_back(outputs[0].clone());
  });
  for (const Node* n : nodes) graph->body().add_result(n->output());
  const std::vector<Tensor> outputs = Session(graph).run(inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (Difference d = compare(outputs[i], expected[i]); !d.within(tolerance))
      return Divergence{Divergence::Stage::kernel, print(*graph, *nodes[i], {.sources = false}),
                        nodes[i]->source.str(), std::move(d)};
  return std::nullopt;
}

}  // namespace

std::optional<Divergence> bisect(const Model& model, const std::vector<Inputs>& samples,
                                 const BisectOptions& options) {
  const double tolerance = options.tolerance.share;
  for (const Inputs& inputs : samples) {
    if (options.torch)
      if (auto d = first_wrong_import(model, *options.torch, inputs, tolerance)) return d;
    if (model.is_source())
      if (auto d =
              first_wrong_rewrite(model, inputs, evaluate(*model.imported, inputs), tolerance, options.fuse))
        return d;
    if (auto d = first_wrong_kernel(*model.graph, inputs, tolerance)) return d;
  }
  return std::nullopt;
}

}  // namespace tenon
