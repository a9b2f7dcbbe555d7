#include "ir/clone.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/bind.h"
#include "ir/data_size.h"
#include "ir/hint.h"
#include "ir/ops/control.h"
#include "ir/ops/create.h"

namespace tenon {
namespace {

DType widened(DType t) { return is_float(t) ? DType::f64 : is_complex(t) ? DType::c128 : t; }

Op widened(const Op& op) {
  std::vector<std::pair<std::string, Attr>> attributes;
  for (const FieldInfo& field : op.info().fields)
    if (const Attr attr = field.get(op.self()); const DType* dtype = attr.get<DType>())
      attributes.emplace_back(field.name, Attr{widened(*dtype)});
  return op.with(attributes);
}

class Cloner {
 public:
  /// Without bindings, symbols stay.
  explicit Cloner(const Bindings* bindings, bool widen = false) : bindings_(bindings), widen_(widen) {}

  std::unique_ptr<Graph> copy(const Graph& graph) {
    auto result = std::make_unique<Graph>(graph.name);
    result->output_names = graph.output_names;
    if (!bindings_) result->symbols = graph.symbols;
    for (const auto& weight : graph.weights()) add_weight(*weight, *result);
    copy(graph.body(), result->body());
    return result;
  }

  std::unique_ptr<Graph> copy_alone(const Region& region) {
    auto result = std::make_unique<Graph>(region.graph().name);
    std::unordered_set<const Value*> used;
    find_weights(region, used);
    add_weights(region.graph(), used, *result);
    copy(region, result->body());
    return result;
  }

  std::unique_ptr<Graph> copy_part(const Graph& graph, std::span<const Node* const> nodes,
                                   std::span<const Value* const> inputs,
                                   std::span<const Value* const> outputs) {
    auto result = std::make_unique<Graph>(graph.name);
    std::unordered_set<const Value*> used;
    for (const Node* node : nodes) find_weights(*node, used);
    add_weights(graph, used, *result);
    Region& body = result->body();
    for (const Value* v : inputs)
      note(*v, body.add_parameter(type(*v), std::to_string(body.parameters().size())));
    for (const Node* node : nodes) copy(*node, body);
    for (const Value* v : outputs) body.add_result(mapped(v, body));
    return result;
  }

 private:
  void add_weight(const Value& weight, Graph& to) {
    Value* value = to.add_weight(weight.name(), type(weight));
    to.set_weight_data(value, data(weight.tensor()));
    note(weight, value);
  }

  void add_weights(const Graph& from, const std::unordered_set<const Value*>& used, Graph& to) {
    for (const auto& weight : from.weights())
      if (used.contains(weight.get())) add_weight(*weight, to);
  }

  static void find_weights(const Node& node, std::unordered_set<const Value*>& found) {
    for (const Value* v : node.inputs())
      if (v->kind() == Value::Kind::weight) found.insert(v);
    for (const auto& inner : node.regions()) find_weights(*inner, found);
  }

  static void find_weights(const Region& region, std::unordered_set<const Value*>& found) {
    for (const auto& node : region.nodes()) find_weights(*node, found);
    for (const Value* v : region.results())
      if (v->kind() == Value::Kind::weight) found.insert(v);
  }

  Type type(const Value& value) const {
    Type type{widen_ ? widened(value.dtype()) : value.dtype(), value.shape()};
    if (bindings_)
      for (Dim& d : type.shape) d = tenon::bind(d, *bindings_);
    return type;
  }
  Op op(const Op& op) const { return bindings_ ? tenon::bind(op, *bindings_) : widen_ ? widened(op) : op; }
  Tensor data(const Tensor& t) const {
    return widen_ && t.defined() && widened(t.dtype()) != t.dtype() ? t.to(widened(t.dtype())) : t;
  }
  std::vector<Type> output_types(const Node& node) const {
    std::vector<Type> types;
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      types.push_back(type(*node.output(i)));
      for (const Dim& d : types.back().shape)
        if (d.is_known() && d.value() < 0)
          throw error("an input is too small: {} would give {}", node.op().name(), types.back().str())
              .at(node.source.str());
    }
    return types;
  }

  void note(const Value& from, Value* to) {
    to->origin = from.origin;
    values_[&from] = to;
  }

  Value* mapped(const Value* v, Region& to) const {
    return v->kind() == Value::Kind::literal ? to.literal(data(v->tensor())) : values_.at(v);
  }

  void copy(const Region& from, Region& to) {
    for (const auto& p : from.parameters()) note(*p, to.add_parameter(type(*p), p->name()));
    for (const auto& node : from.nodes()) copy(*node, to);
    for (const Value* v : from.results()) to.add_result(mapped(v, to));
  }

  void copy(const Node& node, Region& to) {
    std::vector<Value*> inputs;
    for (const Value* v : node.inputs()) inputs.push_back(mapped(v, to));
    Node* made = to.insert_typed(op(node.op()), std::move(inputs), output_types(node), node.regions().size(),
                                 nullptr, node.source);
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      made->output(i)->set_name(node.output(i)->name());
      note(*node.output(i), made->output(i));
    }
    for (std::size_t i = 0; i < node.regions().size(); ++i) copy_program(node.region(i), made->region(i));
    if (bindings_) check(*made);
  }

  // A branch may not be taken and a loop have no step: what does not fit the sizes there is an error when it
  // is reached.
  void copy_program(const Region& from, Region& to) {
    if (!bindings_ || from.owner()->is<Fused>()) return copy(from, to);
    try {
      copy(from, to);
    } catch (const Error& e) {
      while (!to.nodes().empty()) to.erase(to.nodes().back().get());
      to.insert(Check{.message = e.message()}, {to.literal(Tensor::scalar(DType::boolean, std::int64_t{0}))},
                nullptr, from.owner()->source);
      add_zeros(from, to);
    }
  }

  // Results of the same types. The sizes that nodes of the region would have given are 0, as are those below.
  void add_zeros(const Region& from, Region& to) const {
    std::map<std::string, Dim, std::less<>> given;
    for (const auto& node : from.nodes())
      for (const GivenSize& s : given_sizes(*node)) given.emplace(s.symbol, 0);
    to.clear_results();
    for (const Value* v : from.results()) {
      Type zeros = type(*v);
      for (Dim& d : zeros.shape) d = max(d.substitute(given), 0);
      to.add_result(to.insert(Full{.shape = zeros.shape, .dtype = zeros.dtype}, {})->output());
    }
  }

  // What the symbolic sizes left open: a k that is larger than its axis, a slice beyond the end.
  static void check(const Node& made) {
    try {
      const std::vector<Type> types = made.infer();
      for (std::size_t i = 0; i < types.size(); ++i)
        if (types[i] != made.output(i)->type())
          throw error("{} gives {} for these sizes, not {}", made.op().name(), types[i].str(),
                      made.output(i)->type().str());
    } catch (Error& e) {
      if (e.where().empty()) e.at(made.source.str());
      throw;
    }
  }

  const Bindings* bindings_;
  bool widen_;
  std::unordered_map<const Value*, Value*> values_;
};

}  // namespace

std::unique_ptr<Graph> clone(const Graph& graph) { return Cloner(nullptr).copy(graph); }

std::unique_ptr<Graph> region_graph(const Region& region) { return Cloner(nullptr).copy_alone(region); }

std::unique_ptr<Graph> part_graph(const Graph& graph, std::span<const Node* const> nodes,
                                  std::span<const Value* const> inputs,
                                  std::span<const Value* const> outputs) {
  return Cloner(nullptr).copy_part(graph, nodes, inputs, outputs);
}

namespace {

/// Of sizes that inputs have; those that data decide cannot be chosen.
Bindings twice(Bindings sizes) {
  std::erase_if(sizes, [](const auto& size) { return is_data_size(size.first); });
  for (auto& [symbol, size] : sizes) size = 2 * std::max<std::int64_t>(size, 1);
  return sizes;
}

std::string other_sizes(const Bindings& sizes) {
  const std::string here = "that is so at " + hint::sizes(sizes);
  const Bindings others = twice(sizes);
  return others.empty() ? here + ", which the inputs' numbers decide: give others with --input"
                        : fmt::format("{}; other sizes of random inputs: {}", here, hint::shape(others));
}

}  // namespace

std::unique_ptr<Graph> specialize(const Graph& graph, const Bindings& bindings) {
  try {
    return Cloner(&bindings).copy(graph);
  } catch (Error& e) {
    if (e.hint().empty() && !bindings.empty()) e.hint(other_sizes(bindings));
    throw;
  }
}

std::unique_ptr<Graph> in_float64(const Graph& graph) { return Cloner(nullptr, true).copy(graph); }

}  // namespace tenon
