// Python's arithmetic on sizes: operator.mul, torch.sym_max, math.trunc.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

#include "converter/exported/graph_reader.h"

namespace tenon::exported {
namespace {

/// What TorchScript calls the function; empty: it has none.
std::string_view torchscript_name(std::string_view target) {
  static const std::unordered_map<std::string_view, std::string_view> names = {
      {"_operator.add", "aten::add"},
      {"_operator.sub", "aten::sub"},
      {"_operator.mul", "aten::mul"},
      {"_operator.truediv", "aten::div"},
      {"_operator.floordiv", "aten::floordiv"},
      {"_operator.mod", "aten::remainder"},
      {"_operator.pow", "aten::pow"},
      {"_operator.neg", "aten::neg"},
      {"_operator.eq", "aten::eq"},
      {"_operator.ne", "aten::ne"},
      {"_operator.lt", "aten::lt"},
      {"_operator.le", "aten::le"},
      {"_operator.gt", "aten::gt"},
      {"_operator.ge", "aten::ge"},
      {"_operator.and_", "aten::__and__"},
      {"_operator.or_", "aten::__or__"},
      {"_operator.lshift", "aten::__lshift__"},
      {"_operator.rshift", "aten::__rshift__"},
      {"_operator.xor", "aten::__xor__"},
      {"math.trunc", "aten::Int"},
      {"math.floor", "aten::floor"},
      {"math.ceil", "aten::ceil"},
      {"torch.sym_int", "aten::Int"},
      {"torch.sym_float", "aten::Float"},
      {"torch.sym_max", "prim::max"},
      {"torch.sym_min", "prim::min"},
      {"torch.sym_not", "aten::__not__"},
      {"torch.sym_sqrt", "aten::sqrt"},
      {"torch._sym_sqrt", "aten::sqrt"},
  };
  const auto found = names.find(target);
  return found == names.end() ? std::string_view() : found->second;
}

std::string_view kind_name(Kind kind) {
  if (kind == Kind::integer) return "int";
  if (kind == Kind::real) return "float";
  return kind == Kind::boolean ? "bool" : "";
}

}  // namespace

/// The number as a number of another kind.
ts::ValueId GraphReader::as_number(ts::ValueId id, Kind kind) {
  const Kind own = out_.type_of(id)->kind;
  if (own == kind) return id;
  const std::string name = kind == Kind::integer ? "Int" : kind == Kind::real ? "Float" : "Bool";
  return out_.call(fmt::format("aten::{}.{}", name, kind_name(own)), {id}, number_type(kind));
}

/// TorchScript's overload for these operands ("add.int", "add.int_float"); where it has none for two kinds,
/// bools are ints, and ints floats.
const ts::Schema* GraphReader::overload_for(const std::string& name, std::vector<ts::ValueId>& operands,
                                            bool wants_int) {
  for (const Kind wider : {Kind::boolean, Kind::integer, Kind::real}) {
    for (ts::ValueId& id : operands)
      if (wider == Kind::real || out_.type_of(id)->kind == Kind::boolean) id = as_number(id, wider);
    const std::string_view first = kind_name(out_.type_of(operands[0])->kind);
    const std::string_view last = kind_name(out_.type_of(operands.back())->kind);
    std::string overload(first);
    if (last != first) overload += "_" + std::string(last);
    if (name == "aten::pow" && overload == "int" && wants_int) overload = "int_to_int";
    if (const auto* plain = out_.schemas().find(name == "aten::__not__" ? name : name + "." + overload))
      return plain;
  }
  return nullptr;
}

/// torch.sym_ite(condition, a, b)
void GraphReader::read_choice(const json& node, const std::vector<ts::ValueId>& inputs) {
  std::vector<ts::Block> blocks(2);
  for (std::size_t i = 0; i < 2; ++i) blocks[i].outputs = {inputs[1 + i]};
  out_.add("prim::If", {inputs[0]}, outputs_of(node).ids).blocks = std::move(blocks);
}

bool GraphReader::read_symbolic(const json& node, const std::string& target) {
  std::vector<ts::ValueId> inputs;
  for (const json& input : node.at("inputs")) {
    inputs.push_back(argument(input.at("arg")));
    if (kind_name(out_.type_of(inputs.back())->kind).empty()) return false;
  }
  if (target == "torch.sym_ite" && inputs.size() == 3) return read_choice(node, inputs), true;
  const std::string name(torchscript_name(target));
  if (inputs.empty() || inputs.size() > 2) return false;
  const Kind own = out_.type_of(inputs[0])->kind;
  const bool is_itself = target == "_operator.pos" || (name == "aten::Int" && own == Kind::integer) ||
                         (name == "aten::Float" && own == Kind::real);
  if (is_itself) return bind_outputs(node, {inputs[0]}), true;
  if (name.empty()) return false;
  const json& outputs = node.at("outputs");
  const bool wants_int = outputs.size() == 1 && outputs[0].contains("as_sym_int");
  const ts::Schema* schema = overload_for(name, inputs, wants_int);
  if (!schema || schema->arguments.size() != inputs.size()) return false;
  const Outputs results = outputs_of(node);
  out_.add(schema->kind, std::move(inputs), results.ids).schema = schema;
  return true;
}

}  // namespace tenon::exported
