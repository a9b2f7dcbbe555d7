#include "verify/check.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "ir/clone.h"
#include "ir/evaluate.h"
#include "ir/print.h"
#include "runtime/session.h"

namespace tenon {

Tensor to_tensor(const RawTensor& raw) {
  Tensor t = Tensor::empty(raw.dtype, raw.shape);
  if (!raw.bytes.empty()) std::memcpy(t.mutable_bytes(), raw.bytes.data(), raw.bytes.size());
  return t;
}

RawTensor to_raw(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  const std::size_t bytes = static_cast<std::size_t>(dense.numel()) * size_of(dense.dtype());
  return {dense.dtype(), dense.shape(), std::vector<std::byte>(dense.bytes(), dense.bytes() + bytes)};
}

namespace {

std::vector<NamedRawTensor> named_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<NamedRawTensor> named;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    named.push_back({graph.body().parameter(i)->name(), to_raw(inputs[i])});
  return named;
}

}  // namespace

std::vector<Tensor> torch_outputs(TorchOracle& torch, const Graph& graph, std::span<const Tensor> inputs,
                                  const std::string& method) {
  const std::vector<NamedRawTensor> outputs = torch.run(named_inputs(graph, inputs), {.method = method});
  std::vector<Tensor> ordered;
  for (std::size_t i = 0; i < graph.body().results().size(); ++i) {
    const std::string name = output_name(graph, i);
    const auto it =
        std::find_if(outputs.begin(), outputs.end(), [&](const NamedRawTensor& o) { return o.name == name; });
    if (it == outputs.end()) throw error("LibTorch's result has no output '{}'", name);
    ordered.push_back(to_tensor(it->tensor));
  }
  return ordered;
}

std::vector<OutputCheck> check_outputs(const Graph& graph, std::span<const Tensor> outputs,
                                       std::span<const Tensor> expected, double tolerance) {
  std::vector<OutputCheck> checks;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    OutputCheck c{output_name(graph, i), compare(outputs[i], expected[i]), false};
    c.ok = c.difference.within(tolerance) && outputs[i].dtype() == expected[i].dtype();
    checks.push_back(std::move(c));
  }
  return checks;
}

bool all_ok(std::span<const OutputCheck> checks) {
  return std::all_of(checks.begin(), checks.end(), [](const OutputCheck& c) { return c.ok; });
}

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

std::optional<Divergence> bisect(const Model& model, TorchOracle& torch, std::span<const Tensor> inputs,
                                 double tolerance, const FuseOptions& fuse_options) {
  if (auto d = first_wrong_import(model, torch, inputs, tolerance)) return d;
  const std::vector<Tensor> expected = evaluate(*model.imported, inputs);
  if (auto d = first_wrong_rewrite(model, inputs, expected, tolerance, fuse_options)) return d;
  return first_wrong_kernel(*model.graph, inputs, tolerance);
}

}  // namespace tenon
