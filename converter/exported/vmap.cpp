// torch.vmap: the nodes between two marks run once for each sample, in a loop.
#include <nlohmann/json.hpp>

#include "converter/exported/dtypes.h"
#include "converter/exported/graph_reader.h"

namespace tenon::exported {

/// The marks that vmap leaves in a graph: _vmap_increment_nesting(batch), _add_batch_dim(x, axis, level),
/// _remove_batch_dim(y, level, batch, axis), _vmap_decrement_nesting().
bool GraphReader::read_vmap(const json& node, const std::string& target) {
  constexpr std::string_view prefix = "torch._functorch.predispatch.";
  if (!target.starts_with(prefix)) return false;
  const std::string_view mark = std::string_view(target).substr(prefix.size());
  if (mark == "lazy_load_decompositions") return true;
  const json& given = node.at("inputs");
  if (mark == "_vmap_increment_nesting") {
    const json& batch = given.at(0).at("arg");
    begin_vmap(argument(batch), batch.contains("as_int") && batch["as_int"] == 0);
    return true;
  }
  if (vmaps_.empty()) malformed_program("a mark of a vmap without its begin");
  Vmap& v = *vmaps_.back();
  if (mark == "_vmap_decrement_nesting") return end_vmap(), true;
  if (mark == "_add_batch_dim") {
    const ts::ValueId x = argument(given.at(0).at("arg")), axis = argument(given.at(1).at("arg"));
    bind_outputs(node, {out_.call("aten::select.int", {x, axis, v.step}, out_.tensor_type())});
    return true;
  }
  if (mark != "_remove_batch_dim") return false;
  if (v.is_empty) return bind_empty(node), true;
  const ts::ValueId sample = argument(given.at(0).at("arg"));
  ts::Block* inner = out_.enter(v.outer);
  const ts::ValueId list = out_.list({}, out_.tensor_type()), axis = argument(given.at(3).at("arg"));
  out_.enter(inner);
  out_.call("aten::append.t", {list, sample}, out_.list_type(out_.tensor_type()));
  const Outputs outputs = outputs_of(node);
  if (outputs.ids.size() != 1) malformed_program("a vmap gives a value of another number than one");
  v.results.push_back({list, axis, outputs.ids[0]});
  return true;
}

/// What no sample gives: no elements, of the declared type.
void GraphReader::bind_empty(const json& node) {
  const std::string name = node.at("outputs").at(0).at("as_tensor").at("name").get<std::string>();
  const json& meta = scopes_.back().graph->at("tensor_values").at(name);
  const auto code = c10_dtype(meta.at("dtype").get<std::int64_t>());
  ts::List& sizes = out_.program().lists.emplace_back();
  for (const json& size : meta.at("sizes")) sizes.items.emplace_back(size.at("as_int").get<std::int64_t>());
  if (!code) malformed_program("a dtype that is not known");
  ts::Block* inner = out_.enter(vmaps_.back()->outer);
  const ts::ValueId none = out_.constant(ts::None{});
  bind_outputs(node,
               {out_.call("aten::zeros", {out_.constant(&sizes), out_.constant(*code), none, none, none},
                          out_.tensor_type())});
  out_.enter(inner);
}

void GraphReader::begin_vmap(ts::ValueId count, bool is_empty) {
  Vmap& v = *vmaps_.emplace_back(std::make_unique<Vmap>());
  v.count = count;
  v.is_empty = is_empty;
  v.step = out_.value("", number_type(Kind::integer));
  v.always = out_.constant(true);
  v.block.inputs = {v.step};
  v.block.outputs = {v.always};
  v.outer = out_.enter(&v.block);
}

void GraphReader::end_vmap() {
  const std::unique_ptr<Vmap> v = std::move(vmaps_.back());
  vmaps_.pop_back();
  out_.enter(v->outer);
  out_.add("prim::Loop", {v->count, v->always}, {}).blocks.push_back(std::move(v->block));
  const ts::Schema* stack = out_.schemas().find("aten::stack");
  for (const auto& [list, axis, result] : v->results)
    out_.add(stack->kind, {list, axis}, {result}).schema = stack;
}

}  // namespace tenon::exported
