// Operators that carry graphs: cond, while_loop, scan, map, and wrappers that only set a mode.
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "converter/exported/dtypes.h"
#include "converter/exported/graph_reader.h"

namespace tenon::exported {
namespace {

const json& argument_at(const json& node, std::size_t i) {
  const json& inputs = node.at("inputs");
  if (i >= inputs.size()) malformed_program("a higher-order operator lacks an argument");
  return inputs[i].at("arg");
}

const json& graph_at(const json& node, std::size_t i) {
  return argument_at(node, i).at("as_graph").at("graph");
}

std::vector<ts::ValueId> joined(std::vector<ts::ValueId> a, const std::vector<ts::ValueId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

/// The values of {"as_tensors": […]} and its like, one by one.
std::vector<ts::ValueId> GraphReader::operands_of(const json& given) {
  const auto& [kind, v] = tagged_value(given);
  if (!v.is_array()) return {argument(given)};
  std::vector<ts::ValueId> ids;
  for (const json& item : v) {
    const bool is_union = item.is_object() && item.size() == 1 && tagged_value(item).kind.starts_with("as_");
    if (kind == "as_tensors")
      ids.push_back(find(item.at("name").get<std::string>()));
    else if (is_union)
      ids.push_back(item.contains("as_name") ? symbol_or_number(item) : argument(item));
    else
      ids.push_back(argument({{kind.substr(0, kind.size() - 1), item}}));
  }
  return ids;
}

/// Writes the nodes of a graph into the current block; its inputs are the operands.
std::vector<ts::ValueId> GraphReader::inlined(const json& graph, const std::vector<ts::ValueId>& operands) {
  enter(graph);
  const json& inputs = graph.at("inputs");
  if (inputs.size() != operands.size()) malformed_program("a graph is given another number of operands");
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const json& v = tagged_value(inputs[i]).value;
    if (!v.is_object()) continue;  // a number that the graph repeats where it uses it
    const auto name = v.contains("name") ? v.find("name") : v.find("as_name");
    if (name != v.end()) bind(name->get<std::string>(), operands[i]);
  }
  read_nodes();
  std::vector<ts::ValueId> results;
  for (const json& output : graph.at("outputs")) results.push_back(argument(output));
  leave();
  return results;
}

/// The node's results are values that are there already.
void GraphReader::bind_outputs(const json& node, const std::vector<ts::ValueId>& ids) {
  std::size_t i = 0;
  const auto next = [&](const std::string& name) {
    if (i >= ids.size()) malformed_program("a graph has other results than its operator");
    bind(name, ids[i++]);
  };
  for (const json& output : node.at("outputs")) {
    const auto& [kind, v] = tagged_value(output);
    if (kind == "as_tensors")
      for (const json& item : v) next(item.at("name").get<std::string>());
    else if (v.is_object() && (v.contains("name") || v.contains("as_name")))
      next(v.value(v.contains("name") ? "name" : "as_name", ""));
    else
      ++i;
  }
}

ts::ValueId GraphReader::as_bool(ts::ValueId id) {
  if (out_.type_of(id)->kind != Kind::tensor) return id;
  return out_.call("aten::Bool.Tensor", {id}, number_type(Kind::boolean));
}

void GraphReader::read_higher_order(const json& node, const std::string& name) {
  if (name == "cond") return read_cond(node);
  if (name == "while_loop") return read_while(node);
  if (name == "scan") return read_scan(node);
  if (name == "map_impl") return read_map(node);
  if (name == "associative_scan") return read_associative_scan(node);
  if (name == "wrap_with_set_grad_enabled") return read_inlined(node, 1);
  if (name == "wrap_with_autocast") return read_autocast(node);
  refuse(node, "the higher-order operator is not implemented");
}

void GraphReader::read_inlined(const json& node, std::size_t at) {
  std::vector<ts::ValueId> operands;
  for (std::size_t i = at + 1; i < node.at("inputs").size(); ++i)
    operands = joined(std::move(operands), operands_of(argument_at(node, i)));
  bind_outputs(node, inlined(graph_at(node, at), operands));
}

void GraphReader::read_cond(const json& node) {
  const ts::ValueId condition = as_bool(argument(argument_at(node, 0)));
  const auto operands = operands_of(argument_at(node, 3));
  std::vector<ts::Block> blocks(2);
  for (std::size_t i = 0; i < 2; ++i) {
    ts::Block* outer = out_.enter(&blocks[i]);
    blocks[i].outputs = inlined(graph_at(node, 1 + i), operands);
    out_.enter(outer);
  }
  const Outputs outputs = outputs_of(node);
  std::vector<ts::ValueId> ids = outputs.lists.empty() ? outputs.ids : outputs.lists[0].second;
  if (blocks[0].outputs.size() != ids.size() || blocks[1].outputs.size() != ids.size())
    malformed_program("the branches of a cond have other results than it");
  out_.add("prim::If", {condition}, std::move(ids)).blocks = std::move(blocks);
}

void GraphReader::read_while(const json& node) {
  const json &condition = graph_at(node, 0), &body = graph_at(node, 1);
  const auto carried = operands_of(argument_at(node, 2));
  const auto extra =
      node.at("inputs").size() > 3 ? operands_of(argument_at(node, 3)) : std::vector<ts::ValueId>();
  const auto goes_on = [&](const std::vector<ts::ValueId>& state) {
    const auto results = inlined(condition, joined(state, extra));
    if (results.size() != 1) malformed_program("the condition of a while_loop has several results");
    return as_bool(results[0]);
  };
  std::vector<ts::ValueId> inputs = {out_.constant(std::numeric_limits<std::int64_t>::max()),
                                     goes_on(carried)};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  ts::Block block;
  block.inputs.push_back(out_.value("", number_type(Kind::integer)));
  std::vector<ts::ValueId> state;
  for (const ts::ValueId id : carried) state.push_back(out_.value("", out_.type_of(id)));
  block.inputs = joined(block.inputs, state);
  ts::Block* outer = out_.enter(&block);
  const auto next = inlined(body, joined(state, extra));
  block.outputs = joined({goes_on(next)}, next);
  out_.enter(outer);
  const Outputs outputs = outputs_of(node);
  std::vector<ts::ValueId> ids = outputs.lists.empty() ? outputs.ids : outputs.lists[0].second;
  if (next.size() != carried.size() || ids.size() != carried.size())
    malformed_program("a while_loop has other results than it carries");
  out_.add("prim::Loop", std::move(inputs), std::move(ids)).blocks.push_back(std::move(block));
}

/// The operands at a place; none where there is no such argument.
std::vector<ts::ValueId> GraphReader::optional_operands(const json& node, std::size_t i) {
  return i < node.at("inputs").size() ? operands_of(argument_at(node, i)) : std::vector<ts::ValueId>();
}

/// scan(f, carried, xs, extra): f runs over the first axis of the xs; its further results are stacked.
void GraphReader::read_scan(const json& node) {
  const auto carried = operands_of(argument_at(node, 1)), xs = operands_of(argument_at(node, 2));
  read_steps(node, {carried, xs, optional_operands(node, 3)});
}

/// map(f, xs, extra): a scan that carries nothing.
void GraphReader::read_map(const json& node) {
  read_steps(node, {{}, operands_of(argument_at(node, 1)), optional_operands(node, 2)});
}

/// associative_scan(f, xs, extra): the first items, then what f makes of the last result and the next items.
void GraphReader::read_associative_scan(const json& node) {
  read_steps(node, {{}, operands_of(argument_at(node, 1)), optional_operands(node, 2), true});
}

void GraphReader::read_steps(const json& node, const Steps& steps) {
  const json& body = graph_at(node, 0);
  const auto& [given, xs, extra, folds] = steps;
  const std::size_t results = body.at("outputs").size(), kept = given.size();
  if (xs.empty() || results < kept || (folds && results != xs.size()))
    malformed_program("a scan without anything to scan");
  const ts::Type* tensor = out_.tensor_type();
  const ts::ValueId axis = out_.constant(std::int64_t{0});
  const auto item = [&](ts::ValueId x, ts::ValueId i) {
    return out_.call("aten::select.int", {x, axis, i}, tensor);
  };
  ts::ValueId count = out_.call("aten::size.int", {xs[0], axis}, number_type(Kind::integer));
  const ts::ValueId always = out_.constant(true), one = out_.constant(std::int64_t{1});
  std::vector<ts::ValueId> carried = given, stacks;
  if (folds) {
    count = out_.call("aten::sub.int", {count, one}, number_type(Kind::integer));
    for (const ts::ValueId x : xs) carried.push_back(item(x, axis));
  }
  for (std::size_t i = kept; i < results; ++i)
    stacks.push_back(out_.list(folds ? std::vector{carried[i]} : std::vector<ts::ValueId>(), tensor));
  ts::Block block;
  ts::ValueId step = out_.value("", number_type(Kind::integer));
  std::vector<ts::ValueId> state;
  for (const ts::ValueId id : carried) state.push_back(out_.value("", out_.type_of(id)));
  block.inputs = joined({step}, state);
  ts::Block* outer = out_.enter(&block);
  if (folds) step = out_.call("aten::add.int", {step, one}, number_type(Kind::integer));
  std::vector<ts::ValueId> operands = state;
  for (const ts::ValueId x : xs) operands.push_back(item(x, step));
  auto next = inlined(body, joined(operands, extra));
  for (std::size_t i = 0; i < stacks.size(); ++i)
    out_.call("aten::append.t", {stacks[i], next[kept + i]}, out_.list_type(tensor));
  next.resize(carried.size());
  block.outputs = joined({always}, next);
  out_.enter(outer);
  const Outputs outputs = outputs_of(node);
  const std::vector<ts::ValueId> ids = outputs.lists.empty() ? outputs.ids : outputs.lists[0].second;
  if (ids.size() != results) malformed_program("a scan has other results than its body");
  std::vector<ts::ValueId> left(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(kept));
  while (left.size() < carried.size()) left.push_back(out_.value("", tensor));
  out_.add("prim::Loop", joined({count, always}, carried), std::move(left))
      .blocks.push_back(std::move(block));
  const ts::Schema* stack = out_.schemas().find("aten::stack");
  for (std::size_t i = 0; i < stacks.size(); ++i)
    out_.add(stack->kind, {stacks[i], axis}, {ids[kept + i]}).schema = stack;
}

/// autocast(device, dtype, enabled, cache, f, ...): f with the dtypes that autocast gives its operators.
void GraphReader::read_autocast(const json& node) {
  constexpr std::size_t device_at = 0, dtype_at = 1, enabled_at = 2, graph_place = 4;
  const bool enabled = argument_at(node, enabled_at).at("as_bool").get<bool>();
  std::optional<DType> dtype;
  if (enabled) {
    const std::string device = argument_at(node, device_at).value("as_string", "");
    if (device != "cpu")
      return refuse(node, fmt::format("autocast for the device '{}', which has rules of its own", device));
    const json& given = argument_at(node, dtype_at);
    dtype = given.contains("as_scalar_type") ? dtype_of(given["as_scalar_type"].get<std::int64_t>())
                                             : DType::bf16;
    if (dtype != DType::bf16 && dtype != DType::f16)
      return refuse(node, "autocast to a dtype that is not 16 bits");
  }
  const std::optional<DType> outer = std::exchange(autocast_, dtype);
  read_inlined(node, graph_place);
  autocast_ = outer;
}

}  // namespace tenon::exported
