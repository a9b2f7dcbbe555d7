#include "runtime/specialize.h"

#include <unordered_map>

#include "base/error.h"
#include "ir/bind.h"

namespace tenon {
namespace {

class Specializer {
 public:
  explicit Specializer(const Bindings& bindings) : bindings_(bindings) {}

  std::unique_ptr<Graph> copy(const Graph& graph) {
    auto result = std::make_unique<Graph>(graph.name);
    result->output_names = graph.output_names;
    for (const auto& weight : graph.weights()) {
      Value* value = result->add_weight(weight->name(), type(*weight));
      result->set_weight_data(value, weight->tensor());
      values_[weight.get()] = value;
    }
    copy(graph.body(), result->body());
    return result;
  }

 private:
  Type type(const Value& value) const { return {value.dtype(), to_shape(eval(value.shape(), bindings_))}; }

  void copy(const Region& from, Region& to) {
    for (const auto& p : from.parameters()) values_[p.get()] = to.add_parameter(type(*p), p->name());
    const auto mapped = [&](const Value* v) {
      return v->kind() == Value::Kind::literal ? to.literal(v->tensor()) : values_.at(v);
    };
    for (const auto& node : from.nodes()) {
      std::vector<Value*> inputs;
      for (const Value* v : node->inputs()) inputs.push_back(mapped(v));
      std::vector<Type> types;
      for (std::size_t i = 0; i < node->num_outputs(); ++i) types.push_back(type(*node->output(i)));
      Node* made = to.insert_typed(tenon::bind(node->op(), bindings_), std::move(inputs), std::move(types),
                                   node->regions().size(), nullptr, node->source);
      for (std::size_t i = 0; i < node->num_outputs(); ++i) {
        made->output(i)->set_name(node->output(i)->name());
        values_[node->output(i)] = made->output(i);
      }
      for (std::size_t i = 0; i < node->regions().size(); ++i) copy(node->region(i), made->region(i));
    }
    for (const Value* v : from.results()) to.add_result(mapped(v));
  }

  const Bindings& bindings_;
  std::unordered_map<const Value*, Value*> values_;
};

}  // namespace

Bindings bind_inputs(const Graph& graph, std::span<const Tensor> inputs) {
  std::vector<Index> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& parameters = graph.body().parameters();
    const std::string name = i < parameters.size() ? parameters[i]->name() : "";
    if (!inputs[i].defined()) throw error("input {} {} is missing", i, name);
    if (i < parameters.size() && inputs[i].dtype() != parameters[i]->dtype())
      throw error("input {} is {}, the graph expects {}", name.empty() ? std::to_string(i) : name,
                  inputs[i].type_string(), parameters[i]->type().str());
    shapes.push_back(inputs[i].shape());
  }
  return bind_symbols(graph, shapes);
}

std::unique_ptr<Graph> specialize(const Graph& graph, const Bindings& bindings) {
  return Specializer(bindings).copy(graph);
}

}  // namespace tenon
