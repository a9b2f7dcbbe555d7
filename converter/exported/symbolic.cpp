// Python's arithmetic on sizes: operator.mul, torch.sym_max, math.trunc.
#include <nlohmann/json.hpp>
#include <string_view>

#include "converter/exported/graph_reader.h"

namespace tenon::exported {
namespace {

using Kind = ts::Type::Kind;

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
      {"math.trunc", "aten::Int"},
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

std::string_view kind_name(const ts::Type* type) {
  if (type->kind == Kind::integer) return "int";
  if (type->kind == Kind::real) return "float";
  return type->kind == Kind::boolean ? "bool" : "";
}

}  // namespace

bool GraphReader::read_symbolic(const json& node, const std::string& target) {
  std::vector<ts::ValueId> inputs;
  for (const json& input : node.at("inputs")) inputs.push_back(argument(input.at("arg")));
  if (target == "_operator.pos" && inputs.size() == 1) return bind_outputs(node, inputs), true;
  const std::string_view name = torchscript_name(target);
  if (name.empty() || inputs.empty() || inputs.size() > 2) return false;
  // Overloads are called by the kinds of their operands: add.int, add.int_float.
  std::string overload(kind_name(out_.type_of(inputs[0])));
  if (inputs.size() == 2 && kind_name(out_.type_of(inputs[1])) != overload)
    overload += "_" + std::string(kind_name(out_.type_of(inputs[1])));
  if (name == "aten::pow" && overload == "int") overload = "int_to_int";
  std::string key(name);
  if (name != "aten::__not__") key += "." + overload;
  const ts::Schema* schema = out_.schemas().find(key);
  if (!schema || schema->arguments.size() != inputs.size()) return false;
  const Outputs outputs = outputs_of(node);
  out_.add(schema->kind, std::move(inputs), outputs.ids).schema = schema;
  return true;
}

}  // namespace tenon::exported
