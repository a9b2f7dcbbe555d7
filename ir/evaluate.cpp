// The reference interpreter: one node after the other.
#include "ir/evaluate.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/named_error.h"
#include "base/progress.h"
#include "ir/bind.h"
#include "ir/build.h"
#include "ir/data_size.h"
#include "ir/evaluate_pointwise.h"

namespace tenon {
namespace {

std::vector<Type> types_of(std::span<const Tensor> tensors) {
  std::vector<Type> types;
  for (const Tensor& t : tensors) types.push_back({t.dtype(), to_shape(t.shape())});
  return types;
}

std::vector<Tensor> tensors_of(const std::vector<Type>& types) {
  std::vector<Tensor> tensors;
  for (const Type& t : types) tensors.push_back(Tensor::empty(t.dtype, eval(t.shape, {})));
  return tensors;
}

bool is_empty(const Type& t) { return numel(eval(t.shape, {})) == 0; }

std::vector<Tensor> run_composite(const Op& op, std::span<const Tensor> inputs) {
  Graph graph;
  const InsertionPoint point{&graph.body()};
  std::vector<Ref> operands;
  for (Type& t : types_of(inputs)) operands.emplace_back(graph.body().add_parameter(std::move(t)), point);
  for (const Ref& r : op.info().decompose(op.self(), operands)) graph.body().add_result(r.value());
  return evaluate(graph.body(), inputs, {});
}

std::vector<Tensor> run_kernel(const Op& op, std::span<const Tensor> inputs, const std::vector<Type>& types) {
  std::vector<Tensor> outputs = op.info().gives_size ? std::vector<Tensor>(types.size()) : tensors_of(types);
  try {
    op.info().reference(op.self(), inputs, outputs);
  } catch (const Error& e) { throw named(op.name(), e); }
  return outputs;
}

// Evaluates a region; holds each value until its last use.
class RegionEvaluator {
 public:
  RegionEvaluator(const Region& region, Bindings bindings, const Observer& observer)
      : region_(region), bindings_(std::move(bindings)), observer_(observer) {}

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    TENON_CHECK(inputs.size() == region_.parameters().size());
    for (std::size_t i = 0; i < inputs.size(); ++i) hold(region_.parameter(i), inputs[i]);
    Count count("nodes", region_.nodes().size());
    for (const auto& node : region_.nodes()) {
      try {
        step(*node);
        count.step();
      } catch (Error& e) {
        if (e.where().empty()) e.at(node->source.str());
        throw;
      }
    }
    std::vector<Tensor> results;
    for (const Value* v : region_.results()) results.push_back(get(v));
    return results;
  }

 private:
  struct Held {
    Tensor tensor;
    std::size_t uses;
  };

  void hold(const Value* v, Tensor t) {
    if (!v->uses().empty()) held_.insert_or_assign(v, Held{std::move(t), v->uses().size()});
  }

  Tensor get(const Value* v) const { return v->is_constant() ? constant(v) : held_.at(v).tensor; }

  static Tensor constant(const Value* v) {
    if (!v->tensor().defined()) throw error("weight @{} has no data", v->name());
    return v->tensor();
  }

  void release(const Value* v) {
    const auto it = held_.find(v);
    if (it != held_.end() && --it->second.uses == 0) held_.erase(it);
  }

  void step(const Node& node) {
    std::vector<Tensor> inputs;
    for (const Value* v : node.inputs()) inputs.push_back(get(v));
    for (const Value* v : node.inputs()) release(v);
    const std::vector<Tensor> outputs = evaluate(node, inputs, bindings_, observer_);
    TENON_CHECK(outputs.size() == node.num_outputs());
    bind_given(given_sizes(node), outputs, bindings_);
    for (std::size_t i = 0; i < outputs.size(); ++i) hold(node.output(i), outputs[i]);
    if (observer_) observer_(node, outputs);
  }

  const Region& region_;
  Bindings bindings_;
  const Observer& observer_;
  std::unordered_map<const Value*, Held> held_;
};

}  // namespace

std::vector<Tensor> evaluate(const Op& op, std::span<const Tensor> inputs) {
  const std::vector<Type> types = op.infer(types_of(inputs));
  if (op.info().op_kind == OpKind::composite && std::all_of(types.begin(), types.end(), is_empty))
    return tensors_of(types);
  switch (op.info().op_kind) {
    case OpKind::pointwise: return {evaluate_pointwise(expr_of(op), inputs, eval(types[0].shape, {}))};
    case OpKind::composite: return run_composite(op, inputs);
    default: return run_kernel(op, inputs, types);
  }
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor> inputs, const Bindings& bindings,
                             const Observer& observer) {
  const Op op = node.op().info().gives_size ? node.op() : bind(node.op(), bindings);
  if (node.regions().empty()) return evaluate(op, inputs);
  std::vector<RegionFunction> regions;
  for (const auto& region : node.regions())
    regions.emplace_back([&, inner = region.get()](std::span<const Tensor> in) {
      Bindings known = bindings;
      bind_given(sizes_of_parameters(node), in, known);
      return evaluate(*inner, in, known, observer);
    });
  return evaluate(node, inputs, bindings, regions);
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor> inputs, const Bindings& bindings,
                             std::span<const RegionFunction> regions) {
  const Op op = bind(node.op(), bindings);
  Bindings known = bindings;
  for (const GivenSize& s : given_sizes(node)) known.insert_or_assign(s.symbol, 0);
  std::vector<Type> outputs;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    outputs.push_back({node.output(i)->dtype(), to_shape(eval(node.output(i)->shape(), known))});
  return op.info().region_rules->evaluate(op.self(), inputs, regions, outputs);
}

std::vector<Tensor> evaluate(const Region& region, std::span<const Tensor> inputs, const Bindings& bindings,
                             const Observer& observer) {
  return RegionEvaluator(region, bindings, observer).run(inputs);
}

Bindings bind_all(const Graph& graph, std::span<const Tensor> inputs) {
  Bindings bindings = bind_inputs(graph, inputs);
  if (!gives_sizes(graph.body())) return bindings;
  evaluate(graph.body(), inputs, bindings, [&](const Node& node, std::span<const Tensor> outputs) {
    if (&node.parent() == &graph.body()) bind_given(given_sizes(node), outputs, bindings);
  });
  return bindings;
}

std::vector<Tensor> evaluate(const Graph& graph, std::span<const Tensor> inputs, const Observer& observer) {
  return evaluate(graph.body(), inputs, bind_inputs(graph, inputs), observer);
}

}  // namespace tenon
