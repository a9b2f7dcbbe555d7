#include "report/summary.h"

#include <algorithm>
#include <set>

#include "base/utf8.h"
#include "base/version.h"
#include "ir/clone.h"
#include "ir/data_size.h"
#include "ir/evaluate.h"
#include "ir/flops.h"
#include "ir/hint.h"
#include "ir/outline.h"
#include "report/graph.h"
#include "report/profile_json.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

std::size_t bytes_of(const Value& weight) {
  return static_cast<std::size_t>(elements(weight.type())) * size_of(weight.dtype());
}

std::vector<OperatorCost> operators_of(const Graph& known) {
  std::vector<OperatorCost> list;
  for (const auto& node : known.body().nodes()) {
    const std::string kind = kind_of(*node);
    auto entry = std::find_if(list.begin(), list.end(), [&](const auto& o) { return o.op == kind; });
    if (entry == list.end()) entry = list.insert(list.end(), {.op = kind});
    ++entry->count;
    entry->flops += flops(*node);
  }
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.flops != b.flops ? a.flops > b.flops : a.count > b.count;
  });
  return list;
}

// What a parameter of a region stands for: the owner's operand.
const Value* outside(const Value* v, const Node& user) {
  const Node* owner = user.parent().owner();
  if (!owner || v->kind() != Value::Kind::parameter) return v;
  const auto input = owner->op().info().region_rules->input_of(owner->op().self(), v->index());
  return input ? owner->input(*input) : v;
}

// Adds up what the operators of each module cost.
class Modules {
 public:
  void add(const Node& node, const Source& around) {
    for (const auto& region : node.regions())
      for (const auto& member : region->nodes()) add(*member, node.source);
    if (!node.regions().empty()) return;
    const Source& source = node.source.modules.empty() ? around : node.source;
    ModuleCost& module = at(source.modules.empty() ? "" : source.modules.front());
    ++module.operators;
    module.flops += flops(node);
    for (const Value* v : node.inputs()) {
      v = outside(v, node);
      if (v->kind() != Value::Kind::weight || !seen_.insert(v).second) continue;
      module.numbers += static_cast<std::int64_t>(elements(v->type()));
      module.bytes += bytes_of(*v);
    }
  }
  std::vector<ModuleCost> list() && { return std::move(list_); }

 private:
  ModuleCost& at(const std::string& path) {
    const auto [place, fresh] = places_.emplace(path, list_.size());
    if (fresh) list_.push_back({.module = path});
    return list_[place->second];
  }

  std::vector<ModuleCost> list_;
  std::map<std::string, std::size_t> places_;
  std::set<const Value*> seen_;
};

void count_weights(const Graph& graph, ModelSummary& s) {
  for (const auto& w : graph.weights()) {
    auto entry = std::find_if(s.weights.begin(), s.weights.end(),
                              [&](const auto& kind) { return kind.dtype == w->dtype(); });
    if (entry == s.weights.end()) entry = s.weights.insert(s.weights.end(), {.dtype = w->dtype()});
    const auto numbers = static_cast<std::int64_t>(elements(w->type()));
    ++entry->tensors;
    entry->numbers += numbers;
    entry->bytes += bytes_of(*w);
    s.numbers += numbers;
    s.weight_bytes += bytes_of(*w);
  }
}

bool is_note(std::string_view key) { return key.starts_with("note."); }

Json operators_json(const std::vector<OperatorCost>& operators) {
  Json out = Json::array();
  for (const OperatorCost& o : operators)
    out.push_back({{"op", o.op}, {"count", o.count}, {"flops", o.flops}});
  return out;
}

Json symbols_json(const Graph& graph) {
  Json out = Json::array();
  for (const auto& [name, info] : graph.symbols) {
    const bool bounded = info.max != SymbolInfo{}.max;
    out.push_back({{"name", name},
                   {"min", info.min},
                   {"max", bounded ? Json(info.max) : Json(nullptr)},
                   {"note", info.note}});
  }
  return out;
}

}  // namespace

namespace {

/// Also those that depend on data, where the model runs for these inputs: one may raise for random numbers.
Bindings sizes_of(const Graph& graph, std::span<const Tensor> inputs) {
  const Bindings given = bind_inputs(graph, inputs);
  try {
    return bind_all(graph, inputs);
  } catch (const Error&) { return given; }
}

}  // namespace

ModelSummary summarize(const Model& model, Session& session, std::span<const Tensor> inputs) {
  ModelSummary s{.sizes = sizes_of(*model.graph, inputs)};
  count_weights(*model.graph, s);
  const auto known = specialize(*model.graph, s.sizes);
  s.operators = operators_of(*known);
  if (model.imported) s.imported = operators_of(*specialize(*model.imported, s.sizes));
  for (const OperatorCost& o : s.operators) s.flops += o.flops;
  Modules modules;
  for (const auto& node : known->body().nodes()) modules.add(*node, node->source);
  s.modules = std::move(modules).list();
  try {
    s.plan = session.plan_for(inputs);
    s.packed_bytes = session.packed_bytes();
  } catch (const Error& e) { s.no_plan = e.message(); }
  for (const ConvertNote& n : model.notes) s.notes.push_back(n.text);
  for (const auto& [key, text] : model.metadata)
    if (is_note(key)) s.notes.push_back(text);
  return s;
}

Json to_json(const Model& model, const ModelSummary& s) {
  Json out = {{"schema", "tenon.model/1"}, {"tenon", version()}, {"model", to_json(model_info(model))}};
  out["symbols"] = symbols_json(*model.graph);
  out["sizes"] = Json::object();
  for (const auto& [symbol, size] : s.sizes) out["sizes"][symbol] = size;
  out["size_notes"] = explain_sizes(model);
  out["weights"] = Json::array();
  for (const DTypeWeights& w : s.weights)
    out["weights"].push_back(
        {{"dtype", name(w.dtype)}, {"tensors", w.tensors}, {"numbers", w.numbers}, {"bytes", w.bytes}});
  out["flops"] = s.flops;
  out["nodes"] = model.graph->body().nodes().size();
  out["operators"] = operators_json(s.operators);
  out["imported_operators"] = model.imported ? operators_json(s.imported) : Json(nullptr);
  out["modules"] = Json::array();
  for (const ModuleCost& m : s.modules)
    out["modules"].push_back({{"module", m.module},
                              {"operators", m.operators},
                              {"numbers", m.numbers},
                              {"bytes", m.bytes},
                              {"flops", m.flops}});
  out["notes"] = s.notes;
  out["facts"] = Json::object();
  for (const auto& [key, text] : model.metadata)
    if (!is_note(key)) out["facts"][key] = fact_text(key, text);
  out["goldens"] = model.goldens.size();
  out["plan"] = nullptr;
  if (s.plan)
    out["plan"] = {{"arena_bytes", s.plan->arena_bytes},
                   {"scratch_bytes", s.plan->scratch_bytes},
                   {"packed_bytes", s.packed_bytes},
                   {"steps", steps_json(*s.plan)}};
  else
    out["no_plan"] = s.no_plan;
  out["graphs"] = {
      {"imported", model.imported ? to_json(*model.imported, s.sizes, model.graph.get()) : nullptr},
      {"fused", to_json(*model.graph, s.sizes)}};
  return out;
}

std::vector<ModuleCost> module_tree(std::span<const ModuleCost> modules, int depth) {
  std::vector<ModuleCost> tree;
  for (const ModuleCost& m : modules) {
    std::size_t end = 0, after = 0;  // of the subtree, where a new child goes
    for (int level = 1; end != std::string::npos && level <= depth; ++level) {
      end = m.module.find('.', level == 1 ? 0 : end + 1);
      const std::string path = m.module.substr(0, end);
      std::size_t place = after;
      while (place < tree.size() && tree[place].depth >= level && tree[place].module != path) ++place;
      if (place == tree.size() || tree[place].depth != level || tree[place].module != path)
        tree.insert(tree.begin() + static_cast<std::ptrdiff_t>(place), {.module = path, .depth = level});
      tree[place].operators += m.operators;
      tree[place].numbers += m.numbers;
      tree[place].bytes += m.bytes;
      tree[place].flops += m.flops;
      after = place + 1;
    }
  }
  return tree;
}

std::vector<std::string> explain_sizes(const Model& model) {
  std::vector<std::string> lines = hint::symbols(*model.graph);
  for (const auto& node : model.graph->body().nodes())
    for (const GivenSize& size : given_sizes(*node)) {
      std::string line = fmt::format("{}: given by {} when it runs{}", size.symbol, node->op().name(),
                                     node->source.empty() ? "" : " (" + node->source.str() + ")");
      if (lines.empty() || lines.back() != line) lines.push_back(std::move(line));
    }
  for (const auto& p : model.graph->body().parameters()) {
    std::string fixed;
    for (const Dim& d : p->shape())
      if (d.is_known()) fixed += (fixed.empty() ? "" : ", ") + d.str();
    if (!fixed.empty()) lines.push_back(fmt::format("{} of {}: fixed", fixed, p->name()));
  }
  return lines;
}

}  // namespace tenon
