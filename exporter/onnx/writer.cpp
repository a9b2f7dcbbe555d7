#include "exporter/onnx/writer.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "converter/onnx/arena.h"
#include "converter/onnx/onnx.pb.h"
#include "exporter/onnx/dtype.h"
#include "exporter/onnx/kernels.h"

namespace tenon::exporter::onnx {
namespace {

using converter::onnx::AttributeProto;
using converter::onnx::NodeProto;
using converter::onnx::ValueInfoProto;
using Names = std::unordered_map<std::string, std::string>;

/// Sizes that only a run tells have no name.
void describe(const std::string& name, const Type& type, ValueInfoProto& out) {
  out.set_name(name);
  auto& tensor = *out.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_number(type.dtype));
  auto& shape = *tensor.mutable_shape();
  for (const Dim& d : type.shape) {
    auto& dim = *shape.add_dim();
    if (d.is_known())
      dim.set_dim_value(d.value());
    else if (!has_data_size(d))
      dim.set_dim_param(d.str());
  }
}

/// The value and what it is: its number in AttributeProto.AttributeType.
struct SetValue {
  AttributeProto& out;

  void operator()(double value) const { out.set_f(static_cast<float>(value)), out.set_type(1); }
  void operator()(std::int64_t value) const { out.set_i(value), out.set_type(2); }
  void operator()(const std::string& value) const { out.set_s(value), out.set_type(3); }
  void operator()(const std::shared_ptr<GraphProto>& graph) const {
    out.mutable_g()->Swap(graph.get()), out.set_type(5);
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    out.mutable_ints()->Add(values.begin(), values.end()), out.set_type(7);
  }
};

/// The names of nodes and the lines are written as PyTorch's exporters do, so that readers of theirs find
/// them. settle_names adds the node's output.
void set_source(const Source& source, NodeProto& out) {
  const std::string module = valid_utf8(source.modules_text());
  out.set_name((module.empty() ? "" : "/" + module) + "/");
  if (source.file.empty()) return;
  auto& entry = *out.add_metadata_props();
  entry.set_key("pkg.torch.onnx.stack_trace");
  entry.set_value(fmt::format("File \"{}\", line {}", valid_utf8(source.file), source.line));
}

void settle_names(GraphProto& graph, const Names& names) {
  const auto renamed = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (NodeProto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) renamed(name);
    for (std::string& name : *node.mutable_output()) renamed(name);
    node.mutable_name()->append(node.output(0));
    for (AttributeProto& a : *node.mutable_attribute())
      if (a.has_g()) settle_names(*a.mutable_g(), names);
  }
  for (ValueInfoProto& v : *graph.mutable_output()) renamed(*v.mutable_name());
}

}  // namespace

OnnxWriter::OnnxWriter(const Graph& graph) {
  body_.graph = converter::onnx::on_own_arena<GraphProto>();
  body_.graph->set_name(valid_utf8(graph.name.empty() ? "main" : graph.name));
  for (const auto& p : graph.body().parameters()) {
    const std::string name = unique(p->name().empty() ? "input" : p->name());
    describe(name, p->type(), *body_.graph->add_input());
    set(p.get(), {name, p->dtype()});
  }
  for (std::size_t i = 0; i < graph.body().results().size(); ++i) {
    const std::string name = valid_utf8(output_name(graph, i));
    output_names_.push_back(unique(name.empty() ? "output" : names_.contains(name) ? name + "_out" : name));
  }
  for (const auto& w : graph.weights()) {
    if (w->uses().empty()) continue;
    TENON_CHECK(w->tensor().defined());
    const std::string name = unique(w->name().empty() ? "weight" : w->name());
    add_initializer(name, w->tensor());
    set(w.get(), {name, w->dtype()});
  }
  find_sizes(graph);
}

void OnnxWriter::add_initializer(const std::string& name, const Tensor& tensor) {
  auto& out = *body_.graph->add_initializer();
  out.mutable_dims()->Add(tensor.shape().begin(), tensor.shape().end());
  out.set_data_type(onnx_number(tensor.dtype()));
  out.set_name(name);
  data_.push_back(tensor);
}

OnnxValue OnnxWriter::value(const Value* v) {
  if (v->kind() == Value::Kind::literal) return constant(v->tensor());
  return values_.at(v);
}

void OnnxWriter::set(const Value* value, OnnxValue operand) { values_[value] = std::move(operand); }

OnnxValue OnnxWriter::add(std::string_view op_type, OnnxValues operands, Attributes attributes,
                          std::optional<DType> result) {
  const std::size_t first = op_type == "Where" ? 1 : 0;
  const DType given = operands.at(first).dtype;
  const auto found = computed_in(op_type, given);
  if (!found && !is_float(given)) throw unsupported("ONNX's {} does not take {}", op_type, name(given));
  const DType computed = found.value_or(given);
  for (std::size_t i = first; i < operands.size(); ++i)
    if (!operands[i].name.empty() && operands[i].dtype == given) operands[i] = cast(operands[i], computed);
  const OnnxValue out =
      add_all(op_type, operands, std::move(attributes), {result.value_or(computed)}).front();
  return result ? out : cast(out, given);
}

OnnxValues OnnxWriter::add_all(std::string_view op_type, const OnnxValues& operands, Attributes attributes,
                               const std::vector<DType>& results) {
  NodeProto& node = *scope_->graph->add_node();
  node.set_op_type(std::string(op_type));
  std::size_t given = operands.size();
  while (given > 0 && operands[given - 1].name.empty()) --given;
  for (std::size_t i = 0; i < given; ++i) node.add_input(operands[i].name);
  for (const Attribute& a : attributes) {
    AttributeProto& out = *node.add_attribute();
    out.set_name(a.name);
    std::visit(SetValue{out}, a.value);
  }
  onnx::set_source(source_, node);
  OnnxValues out;
  for (const DType dtype : results) {
    out.push_back({fresh(op_type), dtype});
    node.add_output(out.back().name);
    scope_->results.insert(out.back().name);
  }
  return out;
}

OnnxValue OnnxWriter::cast(const OnnxValue& x, DType to) {
  if (x.dtype == to) return x;
  Attributes attributes{{"to", onnx_number(to)}};
  // What is too large becomes the largest number by default. Of the types of float8 that is so in one alone.
  if (is_float8(to) && to != DType::f8e4m3fn) attributes.push_back({"saturate", std::int64_t{0}});
  return add_all("Cast", {x}, std::move(attributes), {to}).front();
}

OnnxValue OnnxWriter::constant(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  const auto bytes = static_cast<std::size_t>(dense.numel()) * size_of(dense.dtype());
  std::string key = dense.type_string() + ':';
  key.append(reinterpret_cast<const char*>(dense.bytes()), bytes);
  const auto [found, is_new] = constants_.try_emplace(std::move(key));
  if (is_new) {
    found->second = {fresh("constant"), dense.dtype()};
    add_initializer(found->second.name, dense);
  }
  return found->second;
}

OnnxValue OnnxWriter::number(double value, DType dtype) { return constant(Tensor::scalar(dtype, value)); }

OnnxValue OnnxWriter::integers(const Index& values) {
  Tensor t = Tensor::empty(DType::i64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.mutable_data<std::int64_t>());
  return constant(t);
}

std::shared_ptr<GraphProto> OnnxWriter::inside(const std::function<std::vector<const Value*>()>& fill) {
  Scope scope{converter::onnx::on_arena_of<GraphProto>(body_.graph), scope_, {}, {}};
  scope.graph->set_name(fresh("body"));
  const struct Leave {
    OnnxWriter& writer;
    Scope* outer;
    ~Leave() { writer.scope_ = outer; }
  } leave{*this, scope_};
  scope_ = &scope;
  for (const Value* v : fill()) {
    const std::string name = as_result(scope, value(v));
    describe(name, v->type(), *scope.graph->add_output());
  }
  return scope.graph;
}

OnnxValue OnnxWriter::parameter(const Type& type) {
  const OnnxValue out{fresh("parameter"), type.dtype};
  describe(out.name, type, *scope_->graph->add_input());
  return out;
}

std::string OnnxWriter::as_result(Scope& scope, const OnnxValue& x) {
  const auto& taken = scope.graph->output();
  const bool is_taken =
      std::any_of(taken.begin(), taken.end(), [&](const ValueInfoProto& v) { return v.name() == x.name; });
  if (scope.results.contains(x.name) && !is_taken) return x.name;
  return add_all("Identity", {x}, {}, {x.dtype}).front().name;
}

WrittenGraph OnnxWriter::finish(const Graph& graph) {
  const auto& results = graph.body().results();
  source_ = {};
  Names names;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string name = as_result(body_, value(results[i]));
    describe(name, results[i]->type(), *body_.graph->add_output());
    names[name] = output_names_[i];
  }
  settle_names(*body_.graph, names);
  return {std::move(body_.graph), std::move(data_)};
}

std::string OnnxWriter::unique(std::string_view wanted) {
  const std::string base = valid_utf8(wanted);
  std::string name = base;
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

std::string OnnxWriter::fresh(std::string_view base) {
  return unique(fmt::format("{}_{}", base, ++counts_[std::string(base)]));
}

}  // namespace tenon::exporter::onnx
