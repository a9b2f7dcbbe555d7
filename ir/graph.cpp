#include "ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/utf8.h"
#include "ir/free_name.h"

namespace tenon {
namespace {

// Looked for from both ends: nodes are erased in order, or in reverse.
void drop_use(std::vector<Use>& uses, const Use& use) {
  std::size_t first = 0, last = uses.size();
  while (first < last && uses[first] != use && uses[last - 1] != use) ++first, --last;
  TENON_CHECK(first < uses.size() && (uses[first] == use || (last > 0 && uses[last - 1] == use)));
  uses.erase(uses.begin() + static_cast<std::ptrdiff_t>(uses[first] == use ? first : last - 1));
}

bool same_data(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides() &&
         a.bytes() == b.bytes();
}

}  // namespace

void Node::set_input(std::size_t i, Value* value) {
  drop_use(inputs_.at(i)->uses_, {this, nullptr, i});
  inputs_[i] = value;
  value->uses_.push_back({this, nullptr, i});
}

void Node::add_input(Value* value) {
  value->uses_.push_back({this, nullptr, inputs_.size()});
  inputs_.push_back(value);
}

void Node::set_op(Op op) {
  TENON_CHECK(outputs_.empty());
  op_ = std::move(op);
}

void Node::add_outputs(std::vector<Type> types) {
  for (Type& t : types) {
    outputs_.emplace_back(new Value(Value::Kind::result, std::move(t), {}));
    outputs_.back()->node_ = this;
    outputs_.back()->index_ = outputs_.size() - 1;
  }
}

std::vector<Type> Node::input_types() const {
  std::vector<Type> types;
  for (const Value* v : inputs_) types.push_back(v->type());
  return types;
}

std::vector<Type> Node::infer() const {
  std::vector<RegionType> types;
  for (const auto& region : regions_) {
    RegionType& type = types.emplace_back();
    for (const auto& p : region->parameters()) type.parameters.push_back(p->type());
    for (const Value* v : region->results()) type.results.push_back(v->type());
  }
  return op_.infer(input_types(), types);
}

Value* Region::add_parameter(Type type, std::string name) {
  parameters_.emplace_back(new Value(Value::Kind::parameter, std::move(type), printable(name)));
  parameters_.back()->index_ = parameters_.size() - 1;
  return parameters_.back().get();
}

void Region::add_result(Value* value) {
  value->uses_.push_back({nullptr, this, results_.size()});
  results_.push_back(value);
}

void Region::set_result(std::size_t i, Value* value) {
  drop_use(results_.at(i)->uses_, {nullptr, this, i});
  results_[i] = value;
  value->uses_.push_back({nullptr, this, i});
}

void Region::clear_results() {
  for (std::size_t i = 0; i < results_.size(); ++i) drop_use(results_[i]->uses_, {nullptr, this, i});
  results_.clear();
}

Value* Region::literal(Tensor value) {
  TENON_CHECK(value.rank() == 0);
  literals_.emplace_back(new Value(Value::Kind::literal, Type{value.dtype(), {}}, {}));
  literals_.back()->tensor_ = std::move(value);
  return literals_.back().get();
}

Node* Region::insert(Op op, std::vector<Value*> inputs, Node* before, Source source) {
  std::vector<Type> types;
  for (const Value* v : inputs) types.push_back(v->type());
  try {
    std::vector<Type> outputs = op.infer(types);
    const auto regions = static_cast<std::size_t>(op.info().regions);
    return insert_typed(std::move(op), std::move(inputs), std::move(outputs), regions, before,
                        std::move(source));
  } catch (Error& e) {
    if (e.where().empty()) e.at(source.str());
    throw;
  }
}

Node* Region::insert_typed(Op op, std::vector<Value*> inputs, std::vector<Type> outputs, std::size_t regions,
                           Node* before, Source source) {
  const auto place = before ? before->place_ : nodes_.end();
  const auto it = nodes_.emplace(place, std::unique_ptr<Node>(new Node(std::move(op), *this)));
  Node* node = it->get();
  node->place_ = it;
  node->source = std::move(source);
  for (Value* v : inputs) node->add_input(v);
  node->add_outputs(std::move(outputs));
  for (std::size_t i = 0; i < regions; ++i) node->regions_.push_back(std::make_unique<Region>(*graph_, node));
  return node;
}

void Region::erase_unused_literals() {
  std::erase_if(literals_, [](const auto& l) { return l->uses_.empty(); });
}

void Region::erase(Node* node) {
  for (const auto& out : node->outputs_) TENON_CHECK(out->uses_.empty());
  for (const auto& region : node->regions_) {
    region->clear_results();
    while (!region->nodes_.empty()) region->erase(region->nodes_.back().get());
  }
  for (std::size_t i = 0; i < node->inputs_.size(); ++i)
    drop_use(node->inputs_[i]->uses_, {node, nullptr, i});
  nodes_.erase(node->place_);
}

Node* Region::inline_region(Node* node, std::size_t index) {
  Region& inner = node->region(index);
  const RegionRules& rules = *node->op().info().region_rules;
  for (const auto& p : inner.parameters_)
    if (!p->uses().empty())
      replace_all_uses(p.get(), node->input(rules.input_of(node->op().self(), p->index()).value()));
  for (std::size_t i = 0; i < node->num_outputs(); ++i)
    if (!node->output(i)->uses().empty()) replace_all_uses(node->output(i), inner.results_[i]);
  inner.clear_results();
  for (const auto& moved : inner.nodes_) {
    moved->parent_ = this;
    if (moved->source.empty()) moved->source = node->source;
  }
  std::move(inner.literals_.begin(), inner.literals_.end(), std::back_inserter(literals_));
  inner.literals_.clear();
  Node* first = inner.nodes_.empty() ? next(node) : inner.nodes_.front().get();
  nodes_.splice(node->place_, inner.nodes_);
  erase(node);
  return first;
}

Node* Region::next(const Node* node) const {
  const auto it = std::next(node->place_);
  return it == nodes_.end() ? nullptr : it->get();
}

void replace_all_uses(Value* from, Value* to) {
  TENON_CHECK(from != to);
  if (to->origin < 0) to->origin = from->origin;
  while (!from->uses().empty()) {
    const Use use = from->uses().back();
    if (use.node)
      use.node->set_input(use.index, to);
    else
      use.region->set_result(use.index, to);
  }
}

Value* Graph::add_weight(std::string_view given, Tensor data) {
  const std::string wanted = printable(given);
  std::string unique(wanted);
  for (int i = 1;; ++i) {
    Value* taken = find_weight(unique);
    if (!taken) break;
    if (same_data(taken->tensor_, data)) return taken;
    unique = fmt::format("{}.{}", wanted, i);
  }
  Value* value = add_weight(unique, Type{data.dtype(), to_shape(data.shape())});
  value->tensor_ = std::move(data);
  return value;
}

Value* Graph::add_weight(std::string_view given, Type type) {
  const std::string wanted = printable(given);
  if (find_weight(wanted)) throw error("weight @{} is declared twice", wanted);
  weights_.emplace_back(new Value(Value::Kind::weight, std::move(type), wanted));
  return weight_by_name_[wanted] = weights_.back().get();
}

Value* Graph::find_weight(std::string_view given) const {
  const std::string wanted = printable(given);
  const auto it = weight_by_name_.find(wanted);
  return it == weight_by_name_.end() ? nullptr : it->second;
}

void Graph::erase_unused_weights() {
  std::erase_if(weights_, [&](const auto& w) {
    if (!w->uses_.empty()) return false;
    weight_by_name_.erase(w->name_);
    return true;
  });
}

void add_output(Graph& graph, Value* value, const std::string& name) {
  graph.body().add_result(value);
  graph.output_names.push_back(free_name(graph.output_names, name));
}

std::string output_name(const Graph& graph, std::size_t i) {
  if (i < graph.output_names.size()) return printable(graph.output_names[i]);
  return graph.body().results().size() == 1 ? "out" : fmt::format("out.{}", i);
}

void number_origins(Graph& graph) {
  int next = 0;
  for (const auto& node : graph.body().nodes())
    for (std::size_t i = 0; i < node->num_outputs(); ++i) node->output(i)->origin = next++;
}

}  // namespace tenon
