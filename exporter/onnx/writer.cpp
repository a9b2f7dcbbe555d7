#include "exporter/onnx/writer.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "exporter/onnx/dtype.h"
#include "exporter/onnx/kernels.h"

namespace tenon::exporter::onnx {
namespace {

using Names = std::unordered_map<std::string, std::string>;

void rename(GraphProto& graph, const Names& names) {
  const auto renamed = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (NodeProto& node : graph.node) {
    std::for_each(node.input.begin(), node.input.end(), renamed);
    std::for_each(node.output.begin(), node.output.end(), renamed);
    for (AttributeProto& a : node.attribute)
      if (auto* inner = std::get_if<std::shared_ptr<GraphProto>>(&a.value)) rename(**inner, names);
  }
  for (ValueInfoProto& v : graph.output) renamed(v.name);
}

}  // namespace

Writer::Writer(const Graph& graph) {
  body_.graph.name = valid_utf8(graph.name.empty() ? "main" : graph.name);
  for (const auto& p : graph.body().parameters()) {
    const std::string name = unique(p->name().empty() ? "input" : p->name());
    body_.graph.input.push_back({name, p->type()});
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
    body_.graph.initializer.push_back({name, w->tensor()});
    set(w.get(), {name, w->dtype()});
  }
  find_sizes(graph);
}

Operand Writer::value(const Value* v) {
  if (v->kind() == Value::Kind::literal) return constant(v->tensor());
  return values_.at(v);
}

void Writer::set(const Value* value, Operand operand) { values_[value] = std::move(operand); }

Operand Writer::add(std::string_view op_type, Operands operands, Attributes attributes,
                    std::optional<DType> result) {
  const std::size_t first = op_type == "Where" ? 1 : 0;
  const DType given = operands.at(first).dtype;
  const auto found = computed_in(op_type, given);
  if (!found && !is_float(given)) throw unsupported("ONNX's {} does not take {}", op_type, name(given));
  const DType computed = found.value_or(given);
  for (std::size_t i = first; i < operands.size(); ++i)
    if (!operands[i].name.empty() && operands[i].dtype == given) operands[i] = cast(operands[i], computed);
  const Operand out = add_all(op_type, operands, std::move(attributes), {result.value_or(computed)}).front();
  return result ? out : cast(out, given);
}

Operands Writer::add_all(std::string_view op_type, const Operands& operands, Attributes attributes,
                         const std::vector<DType>& results) {
  NodeProto node{std::string(op_type), {}, {}, std::move(attributes), source_};
  for (const Operand& o : operands) node.input.push_back(o.name);
  while (!node.input.empty() && node.input.back().empty()) node.input.pop_back();
  Operands out;
  for (const DType dtype : results) {
    out.push_back({fresh(op_type), dtype});
    node.output.push_back(out.back().name);
    scope_->results.insert(out.back().name);
  }
  scope_->graph.node.push_back(std::move(node));
  return out;
}

Operand Writer::cast(const Operand& x, DType to) {
  if (x.dtype == to) return x;
  return add_all("Cast", {x}, {{"to", onnx_number(to)}}, {to}).front();
}

Operand Writer::constant(const Tensor& tensor) {
  const Tensor dense = tensor.contiguous();
  const auto bytes = static_cast<std::size_t>(dense.numel()) * size_of(dense.dtype());
  std::string key = dense.type_string() + ':';
  key.append(reinterpret_cast<const char*>(dense.bytes()), bytes);
  const auto [found, is_new] = constants_.try_emplace(std::move(key));
  if (is_new) {
    found->second = {fresh("constant"), dense.dtype()};
    body_.graph.initializer.push_back({found->second.name, dense});
  }
  return found->second;
}

Operand Writer::number(double value, DType dtype) { return constant(Tensor::scalar(dtype, value)); }

Operand Writer::integers(const Index& values) {
  Tensor t = Tensor::empty(DType::i64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), t.mutable_data<std::int64_t>());
  return constant(t);
}

std::shared_ptr<GraphProto> Writer::inside(const std::function<std::vector<const Value*>()>& fill) {
  Scope scope{{.name = fresh("body")}, scope_, {}, {}};
  const struct Leave {
    Writer& writer;
    Scope* outer;
    ~Leave() { writer.scope_ = outer; }
  } leave{*this, scope_};
  scope_ = &scope;
  for (const Value* v : fill()) scope.graph.output.push_back({as_result(scope, value(v)), v->type()});
  return std::make_shared<GraphProto>(std::move(scope.graph));
}

Operand Writer::parameter(const Type& type) {
  const Operand out{fresh("parameter"), type.dtype};
  scope_->graph.input.push_back({out.name, type});
  return out;
}

std::string Writer::as_result(Scope& scope, const Operand& x) {
  const auto& taken = scope.graph.output;
  const bool is_taken =
      std::any_of(taken.begin(), taken.end(), [&](const ValueInfoProto& v) { return v.name == x.name; });
  if (scope.results.contains(x.name) && !is_taken) return x.name;
  return add_all("Identity", {x}, {}, {x.dtype}).front().name;
}

GraphProto Writer::finish(const Graph& graph) {
  const auto& results = graph.body().results();
  source_ = {};
  Names names;
  for (std::size_t i = 0; i < results.size(); ++i) {
    body_.graph.output.push_back({as_result(body_, value(results[i])), results[i]->type()});
    names[body_.graph.output.back().name] = output_names_[i];
  }
  rename(body_.graph, names);
  return std::move(body_.graph);
}

std::string Writer::unique(std::string_view wanted) {
  const std::string base = valid_utf8(wanted);
  std::string name = base;
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
  return name;
}

std::string Writer::fresh(std::string_view base) {
  return unique(fmt::format("{}_{}", base, ++counts_[std::string(base)]));
}

}  // namespace tenon::exporter::onnx
