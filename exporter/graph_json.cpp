#include "exporter/graph_json.h"

#include <cmath>

#include "base/version.h"
#include "ir/print.h"

namespace tenon::exporter {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::unordered_map<const Value*, std::string>;

/// JSON has neither infinities nor NaN: they are the words "inf", "-inf" and "nan".
Json to_json(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

Json to_json(const Dim& dim) { return dim.is_known() ? Json(dim.value()) : Json(dim.str()); }

Json to_json(const Attr& attr) {
  if (attr.is_none()) return nullptr;
  if (const auto* flag = attr.get<bool>()) return *flag;
  if (const auto* integer = attr.get<std::int64_t>()) return *integer;
  if (const auto* real = attr.get<double>()) return to_json(*real);
  if (const auto* word = attr.get<std::string>()) return *word;
  if (const auto* dtype = attr.get<DType>()) return name(*dtype);
  if (const auto* dim = attr.get<Dim>()) return to_json(*dim);
  Json list = Json::array();
  for (const Attr& each : *attr.get<Attr::List>()) list.push_back(to_json(each));
  return list;
}

Json value_json(std::string_view value_name, const Type& type) {
  Json shape = Json::array();
  for (const Dim& d : type.shape) shape.push_back(to_json(d));
  return {{"name", value_name}, {"dtype", name(type.dtype)}, {"shape", std::move(shape)}};
}

class Describer {
 public:
  explicit Describer(const Graph& graph) : graph_(graph), names_(value_names(graph)) {}

  Json describe() const {
    Json symbols = Json::object(), weights = Json::array(), outputs = Json::array();
    for (const auto& [symbol, info] : graph_.symbols) {
      const bool has_max = info.max != std::numeric_limits<std::int64_t>::max();
      symbols[symbol] = {{"min", info.min}, {"max", has_max ? Json(info.max) : Json()}, {"note", info.note}};
    }
    for (const auto& w : graph_.weights()) weights.push_back(value_json(names_.at(w.get()), w->type()));
    const Region& body = graph_.body();
    for (std::size_t i = 0; i < body.results().size(); ++i)
      outputs.push_back({{"name", output_name(graph_, i)}, {"value", operand(body.results()[i])}});
    return {{"schema", "tenon.graph/1"},     {"tenon", version()},
            {"name", graph_.name},           {"symbols", std::move(symbols)},
            {"weights", std::move(weights)}, {"inputs", parameters(body)},
            {"nodes", nodes(body)},          {"outputs", std::move(outputs)}};
  }

 private:
  Json operand(const Value* v) const {
    if (v->kind() != Value::Kind::literal) return names_.at(v);
    const Tensor& t = v->tensor();
    Json value = is_float(t.dtype())  ? to_json(t.get_double())
                 : is_bool(t.dtype()) ? Json(t.get_int() != 0)
                                      : Json(t.get_int());
    return {{"literal", std::move(value)}, {"dtype", name(t.dtype())}};
  }

  Json operands(const std::vector<Value*>& values) const {
    Json list = Json::array();
    for (const Value* v : values) list.push_back(operand(v));
    return list;
  }

  Json parameters(const Region& region) const {
    Json list = Json::array();
    for (const auto& p : region.parameters()) list.push_back(value_json(names_.at(p.get()), p->type()));
    return list;
  }

  Json nodes(const Region& region) const {
    Json list = Json::array();
    for (const auto& n : region.nodes()) list.push_back(node(*n));
    return list;
  }

  Json node(const Node& n) const {
    Json attributes = Json::object(), outputs = Json::array(), regions = Json::array();
    for (const FieldInfo& field : n.op().info().fields)
      attributes[std::string(field.name)] = to_json(field.get(n.op().self()));
    for (std::size_t i = 0; i < n.num_outputs(); ++i)
      outputs.push_back(value_json(names_.at(n.output(i)), n.output(i)->type()));
    for (const auto& r : n.regions())
      regions.push_back(
          {{"parameters", parameters(*r)}, {"nodes", nodes(*r)}, {"results", operands(r->results())}});
    return {{"op", n.op().name()},
            {"attributes", std::move(attributes)},
            {"inputs", operands(n.inputs())},
            {"outputs", std::move(outputs)},
            {"regions", std::move(regions)},
            {"source", {{"modules", n.source.modules}, {"file", n.source.file}, {"line", n.source.line}}}};
  }

  const Graph& graph_;
  const Names names_;
};

}  // namespace

Json graph_json(const Graph& graph) { return Describer(graph).describe(); }

}  // namespace tenon::exporter
