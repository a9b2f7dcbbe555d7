#include "converter/onnx/importer.h"

#include <algorithm>

#include "base/error.h"
#include "base/progress.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/node_source.h"
#include "converter/onnx/order.h"

namespace tenon::converter::onnx {

namespace {

/// Functions that call each other for ever would end here.
constexpr int deepest_call = 64;
/// More nodes, each counted as often as a function or loop runs it, are no model.
constexpr int most_steps = 1'000'000;
/// Larger results of constants are left to fusion, and so are the numbers of filters and matrices of bytes,
/// which products read as they are.
constexpr std::int64_t most_folded = 1024;

bool is_of_bytes(const Operand& o) {
  const auto holds = [](const auto& x) {
    return x.rank() >= 2 && (x.dtype() == DType::i8 || x.dtype() == DType::u8);
  };
  if (const auto* t = o.get<Tensor>()) return holds(*t);
  const auto* v = o.get<Value*>();
  return v && holds(**v);
}

bool is_constant(const Operand& o) {
  const auto* v = o.get<Value*>();
  return o.is<Absent>() || o.is<Tensor>() || o.is<Sizes>() || (v && (*v)->is_constant());
}

}  // namespace

Importer::Importer(const Model& model, Values& values, UnsupportedReport& report)
    : model_(model), values_(values), report_(report) {
  for (const FunctionProto& f : model.proto->functions())
    if (!functions_.emplace(FunctionName{f.domain(), f.name(), f.overload()}, &f).second)
      throw error("the model has two functions called {}", f.name());
}

const Operand* Importer::Scope::find(std::string_view name) const {
  for (const Scope* s = this; s; s = s->outer)
    if (const auto it = s->names.find(name); it != s->names.end()) return &it->second;
  return nullptr;
}

void Importer::Scope::define(const std::string& name, Operand operand) {
  if (!names.emplace(name, std::move(operand)).second)
    throw error("two values of the graph are called '{}'", name);
}

Operands Importer::run(std::map<std::string, Operand> inputs) {
  const CallFrame frame{&model_.proto->opset_import(), {}, {}};
  Scope scope{frame};
  for (auto& [name, operand] : inputs) scope.define(name, std::move(operand));
  const GraphProto& graph = model_.proto->graph();
  add_weights(graph, scope);
  run_nodes(graph.node(), scope);
  Operands out;
  for (const ValueInfoProto& v : graph.output()) {
    const Operand* found = scope.find(v.name());
    if (!found) throw error("the output '{}' is computed nowhere", v.name());
    out.push_back(*found);
  }
  return out;
}

void Importer::add_weights(const GraphProto& graph, Scope& scope) {
  const auto add = [&](const TensorProto& said, const auto& data) {
    const std::string& name = said.name();
    if (scope.names.contains(name)) {
      const bool is_input = std::any_of(graph.input().begin(), graph.input().end(),
                                        [&](const ValueInfoProto& v) { return v.name() == name; });
      if (is_input) return;  // the caller gives it another value
      throw error("two values of the graph are called '{}'", name);
    }
    try {
      Operand weight = values_.constant(model_.tensor(data), name);
      if (is_narrow(said.data_type())) weight.narrow = said.data_type();
      scope.define(name, std::move(weight));
    } catch (const Error& e) {
      if (e.code() != Exit::unsupported) throw;
      report_.add("weight", e.message(), e.hint(), {});
      scope.define(name, Poisoned{});
    }
  };
  for (const TensorProto& t : graph.initializer()) add(t, t);
  for (const SparseTensorProto& t : graph.sparse_initializer()) add(t.values(), t);
}

void Importer::run_nodes(const google::protobuf::RepeatedPtrField<NodeProto>& nodes, Scope& scope) {
  Count count("nodes", static_cast<std::size_t>(nodes.size()));
  const auto is_known = [&](std::string_view name) { return scope.find(name) != nullptr; };
  for (int i = 0; i < nodes.size(); ++i) {
    if (!is_ready(nodes[i], is_known)) {  // the file does not list them in the order in which they run
      for (const NodeProto* n : in_order(nodes, i)) {
        run_node(*n, scope);
        count.step();
      }
      return;
    }
    run_node(nodes[i], scope);
    count.step();
  }
}

void Importer::run_node(const NodeProto& file_node, Scope& scope) {
  if (++steps_ > most_steps)
    throw unsupported("its functions and loops run more than {} nodes while it is read", most_steps);
  NodeProto with_attributes;
  const NodeProto& node = bound(file_node, scope.frame, with_attributes);
  const Source source = source_of(node, scope.frame);
  const auto place = [&] {
    return fmt::format("node {} ({})",
                       !node.name().empty()    ? node.name()
                       : node.output().empty() ? std::string()
                                               : node.output(0),
                       node.op_type());
  };
  Operands inputs;
  for (const std::string& name : node.input()) {
    if (name.empty()) {
      inputs.emplace_back();
      continue;
    }
    const Operand* found = scope.find(name);
    if (!found)
      throw error("it reads '{}', which nothing before it gives", name)
          .at(place())
          .hint("the file is damaged, or its nodes wait for each other");
    inputs.push_back(*found);
  }
  values_.build.set_source(source);
  Operands outputs;
  try {
    outputs = outputs_of(node, scope, inputs, source);
  } catch (const Error& e) {
    if (e.code() != Exit::unsupported) {
      Error placed = e;
      if (placed.where().empty()) placed.at(place());
      throw placed;
    }
    report_.add(full_name(node), e.message(), e.hint(), source);
    outputs.assign(static_cast<std::size_t>(node.output_size()), Poisoned{});
  }
  // What the operator does not give stays undefined: an error where somebody reads it.
  for (std::size_t i = 0; i < std::min(static_cast<std::size_t>(node.output_size()), outputs.size()); ++i)
    if (const std::string& name = node.output(static_cast<int>(i)); !name.empty())
      scope.define(name, fold(outputs[i], inputs, name));
}

Operands Importer::outputs_of(const NodeProto& node, Scope& scope, const Operands& inputs,
                              const Source& source) {
  if (is_poisoned(inputs)) {
    report_unknown_operators(node, source, scope.frame);
    return Operands(static_cast<std::size_t>(node.output_size()), Poisoned{});
  }
  const auto function = functions_.find({node.domain(), node.op_type(), node.overload()});
  if (function != functions_.end()) return run_function(*function->second, node, inputs, scope);
  Call call(values_, model_, node, version_of(node.domain(), scope.frame), inputs,
            [&](const GraphProto& graph, Operands operands) {
              return run_graph(graph, std::move(operands), scope);
            });
  return run_operator(call);
}

/// Of an operator set, as the function or the model says. One that neither names, other than ONNX's own, is
/// taken at its newest version, as ONNX Runtime takes it.
std::int64_t Importer::version_of(const std::string& domain, const CallFrame& frame) const {
  for (const OperatorSets* named : {frame.opsets, &model_.proto->opset_import()})
    if (const auto version = onnx::version_of(*named, domain)) return *version;
  if (domain.empty())
    throw error("the model uses ONNX's operators without naming the version of their operator set")
        .hint("add it: model.opset_import.append(onnx.helper.make_opsetid('', 21))");
  constexpr std::int64_t newest_ml = 5;
  return domain == "ai.onnx.ml" ? newest_ml : 1;
}

Operands Importer::run_graph(const GraphProto& graph, Operands inputs, const Scope& around) {
  Scope scope{around.frame, &around};
  if (inputs.size() != static_cast<std::size_t>(graph.input_size()))
    throw error("the sub-graph '{}' takes {} inputs and is given {}", graph.name(), graph.input_size(),
                inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    scope.define(graph.input(static_cast<int>(i)).name(), std::move(inputs[i]));
  add_weights(graph, scope);
  run_nodes(graph.node(), scope);
  Operands out;
  for (const ValueInfoProto& v : graph.output()) {
    const Operand* found = scope.find(v.name());
    if (!found)
      throw error("the output '{}' of the sub-graph '{}' is computed nowhere", v.name(), graph.name());
    out.push_back(*found);
  }
  return out;
}

Operands Importer::run_function(const FunctionProto& function, const NodeProto& node, const Operands& inputs,
                                const Scope& around) {
  if (inputs.size() > static_cast<std::size_t>(function.input_size()))
    throw error("the function {} takes {} inputs and is given {}", function.name(), function.input_size(),
                inputs.size());
  CallFrame frame{
      &function.opset_import(), {}, source_of(node, around.frame).modules_text(), around.frame.depth + 1};
  if (frame.depth > deepest_call) throw error("functions call each other more than {} deep", deepest_call);
  for (const auto* given : {&function.attribute_proto(), &node.attribute()})
    for (const AttributeProto& a : *given) frame.attributes[a.name()] = &a;
  Scope scope{frame};
  for (std::size_t i = 0; i < static_cast<std::size_t>(function.input_size()); ++i)
    scope.define(function.input(static_cast<int>(i)), i < inputs.size() ? inputs[i] : Operand(Absent{}));
  run_nodes(function.node(), scope);
  Operands out;
  for (const std::string& name : function.output()) {
    const Operand* found = scope.find(name);
    if (!found) throw error("the output '{}' of the function {} is computed nowhere", name, function.name());
    out.push_back(*found);
  }
  return out;
}

/// The node with the attributes that it takes from its function's caller; `changed` holds it if it has such.
const NodeProto& Importer::bound(const NodeProto& node, const CallFrame& frame, NodeProto& changed) {
  const auto is_taken = [](const AttributeProto& a) { return !a.ref_attr_name().empty(); };
  if (std::none_of(node.attribute().begin(), node.attribute().end(), is_taken)) return node;
  changed = node;
  changed.clear_attribute();
  for (const AttributeProto& a : node.attribute()) {
    const auto given = frame.attributes.find(a.ref_attr_name());
    if (is_taken(a) && given == frame.attributes.end()) continue;
    AttributeProto& own = *changed.add_attribute() = is_taken(a) ? *given->second : a;
    own.set_name(a.name());
  }
  return changed;
}

/// What depends on something unsupported cannot run, but what it lacks itself belongs into the report.
void Importer::report_unknown_operators(const NodeProto& node, const Source& source, const CallFrame& frame) {
  const std::string name = full_name(node);
  if (!functions_.contains({node.domain(), node.op_type(), node.overload()}) && !is_implemented(name))
    report_.add(name, "the operator is not implemented", "", source);
  for (const AttributeProto& a : node.attribute())
    for (const NodeProto& inner : a.g().node())
      report_unknown_operators(inner, source_of(inner, frame), frame);
}

/// Small results of constants are constants.
Operand Importer::fold(Operand result, const Operands& inputs, const std::string& name) {
  const auto* value = result.get<Value*>();
  if (!value || (*value)->is_constant() || !std::all_of(inputs.begin(), inputs.end(), is_constant))
    return result;
  const auto sizes = known_sizes((*value)->shape());
  if (!sizes || tenon::numel(*sizes) > most_folded) return result;
  if (is_float((*value)->dtype()) && std::any_of(inputs.begin(), inputs.end(), is_of_bytes)) return result;
  auto known = values_.data(result);
  if (!known) return result;
  Operand constant = values_.constant(std::move(*known), name);
  constant.narrow = result.narrow;
  return constant;
}

Source Importer::source_of(const NodeProto& node, const CallFrame& frame) const {
  Source source = tenon::converter::onnx::source_of(node);
  if (source.modules.empty() && !frame.module.empty()) source.modules.push_back(frame.module);
  return source;
}

}  // namespace tenon::converter::onnx
