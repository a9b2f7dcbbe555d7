#include "ir/clone.h"
#include "ir/evaluate.h"
#include "runtime/calls/one_of_line.h"
#include "runtime/planner.h"
#include "runtime/walk.h"
#include "verify/search.h"

namespace tenon {
namespace {

class KernelSearch {
 public:
  KernelSearch(const Plan& plan, const Graph* imported, OpenDevice& device, std::span<const Tensor> inputs,
               const Tolerance& tolerance)
      : plan_(plan),
        imported_(imported),
        tolerance_(tolerance),
        walk_(plan, device, inputs),
        wide_(in_float64(*plan.graph)),
        wide_node_(wide_->body().nodes().begin()) {}

  Search run(std::span<const Tensor> inputs) {
    evaluate(*plan_.graph, inputs, [&](const Node& node, std::span<const Tensor> expected) {
      if (&node.parent() == &plan_.graph->body()) step(node, expected);
    });
    if (!search_.first) walk_.finish();
    return std::move(search_);
  }

 private:
  void step(const Node& node, std::span<const Tensor> expected) {
    const Node& wide = **wide_node_++;
    if (search_.first) return;
    const std::vector<Tensor> inputs = inputs_of(wide, node);
    walk_.run(node);
    if (one_of_line(node)) return;  // kernels may write that one alone; what reads it is compared
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::optional<Tensor> value = walk_.value(node.output(i));
      if (!value) continue;
      const Difference difference = compare(*value, expected[i]);
      const double error = difference.relative();
      search_.look(difference, [&] { return here(node); });
      const double worst = search_.largest ? search_.largest->difference.relative() : 0;
      if (!(error <= worst)) judge(node, *value, expected[i], evaluate(wide, inputs)[i]);
      walk_.replace(node.output(i), expected[i]);
    }
  }

  // In double precision. To be read before the step runs: it may write over them.
  std::vector<Tensor> inputs_of(const Node& wide, const Node& node) const {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* v = node.input(i);
      const std::optional<Tensor> value = v->is_constant() ? std::nullopt : walk_.value(v);
      inputs.push_back(value ? in_float64(std::vector{value->clone()})[0] : wide.input(i)->tensor());
    }
    return inputs;
  }

  void judge(const Node& node, const Tensor& value, const Tensor& expected, const Tensor& wide) {
    const Tensor exact = wide.to(expected.dtype());
    search_.add(compare(value, exact), compare(expected, exact).relative(), tolerance_,
                [&] { return here(node); });
  }

  Divergence here(const Node& node) const {
    return at_node(Divergence::Stage::kernel, *plan_.graph, node, imported_);
  }

  const Plan& plan_;
  const Graph* imported_;
  const Tolerance& tolerance_;
  PlanWalk walk_;
  std::unique_ptr<Graph> wide_;
  std::list<std::unique_ptr<Node>>::const_iterator wide_node_;
  Search search_;
};

}  // namespace

Search search_kernels(const Graph& graph, const Graph* imported, const Device& device, int threads,
                      std::span<const Tensor> inputs, const Tolerance& tolerance) {
  OpenDevice open(device, threads);
  const auto plan = Planner(specialize(graph, bind_all(graph, inputs)), open).plan();
  return KernelSearch(*plan, imported, open, inputs, tolerance).run(inputs);
}

}  // namespace tenon
