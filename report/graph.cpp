#include "report/graph.h"

#include <algorithm>

#include "fusion/replaced.h"
#include "ir/clone.h"
#include "ir/flops.h"
#include "ir/outline.h"
#include "ir/print.h"

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;
using Names = std::unordered_map<const Value*, std::string>;

Json value_json(const Value& v, const Names& names) {
  return {{"name", names.at(&v)}, {"type", v.type().str()}, {"origin", v.origin}};
}

Json results_json(const Node& node, const Names& names) {
  Json list = Json::array();
  for (std::size_t i = 0; i < node.num_outputs(); ++i) list.push_back(value_json(*node.output(i), names));
  return list;
}

std::string line_of(const Source& source) {
  return source.file.empty() ? "" : fmt::format("{}:{}", source.file, source.line);
}

Json members_json(const Node& node, const Names& names) {
  Json list = Json::array();
  for (const auto& region : node.regions())
    for (const auto& member : region->nodes())
      list.push_back({{"op", member->op().name()},
                      {"module", member->source.modules_text()},
                      {"source", line_of(member->source)},
                      {"outputs", results_json(*member, names)}});
  return list;
}

Json node_json(const Node& node, const std::string& text, double flops, const Names& names) {
  Json operands = Json::array(), weights = Json::array();
  for (const Value* v : node.inputs()) {
    if (v->kind() == Value::Kind::weight) weights.push_back(names.at(v));
    if (v->kind() == Value::Kind::result || v->kind() == Value::Kind::parameter)
      operands.push_back(names.at(v));
  }
  Json out = {{"op", node.op().name()},
              {"text", text},
              {"module", node.source.modules_text()},
              {"source", line_of(node.source)},
              {"inputs", std::move(operands)},
              {"weights", std::move(weights)},
              {"outputs", results_json(node, names)},
              {"flops", flops}};
  if (!node.regions().empty()) out["members"] = members_json(node, names);
  return out;
}

}  // namespace

Json to_json(const Graph& graph, const Bindings& sizes, const Graph* fused) {
  const Names names = value_names(graph);
  const std::vector<std::string> texts = print_nodes(graph);
  const auto known = specialize(graph, sizes);
  std::unordered_map<const Node*, const Node*> owners;
  std::unordered_map<const Node*, std::size_t> places;
  if (fused) {
    owners = replaced_nodes(graph, *fused);
    for (const auto& node : fused->body().nodes()) places.emplace(node.get(), places.size());
  }
  Json out = {{"inputs", Json::array()}, {"nodes", Json::array()}, {"results", Json::array()}};
  for (const auto& p : graph.body().parameters()) out["inputs"].push_back(value_json(*p, names));
  auto same = known->body().nodes().begin();
  std::size_t index = 0;
  for (const auto& node : graph.body().nodes()) {
    Json json = node_json(*node, texts[index++], flops(**same++), names);
    if (fused) {
      const auto owner = owners.find(node.get());
      json["fused"] = owner == owners.end() ? Json(nullptr) : Json(places.at(owner->second));
    }
    out["nodes"].push_back(std::move(json));
  }
  for (const Value* v : graph.body().results()) {
    const auto name = names.find(v);
    out["results"].push_back(name == names.end() ? "" : name->second);
  }
  return out;
}

namespace {

Json candidate_json(const CandidateInfo& c) {
  return {{"kernel", c.kernel},
          {"estimated_ms", c.seconds > 0 ? Json(1e3 * c.seconds) : Json(nullptr)},
          {"flops", c.work.flops},
          {"bytes", c.work.bytes},
          {"batch", c.work.batch},
          {"rows", c.work.rows},
          {"columns", c.work.columns},
          {"depth", c.work.depth},
          {"order", c.order},
          {"weights", c.weights},
          {"weight_bytes", c.weight_bytes},
          {"scratch_bytes", c.scratch_bytes}};
}

}  // namespace

Json choices_json(const Plan& plan) {
  Json list = Json::array();
  auto choice = plan.choices.begin();
  for (std::size_t step = 0; step < plan.steps.size();) {
    while (choice != plan.choices.end() && choice->first_step + choice->steps <= step) ++choice;
    const bool chosen = choice != plan.choices.end() && choice->first_step == step;
    const StepInfo& info = plan.steps[step]->info;
    const std::size_t count = chosen ? choice->steps : 1;
    Json candidates = Json::array(), plans = Json::array();
    if (chosen)
      for (const CandidateInfo& c : choice->candidates) candidates.push_back(candidate_json(c));
    for (std::size_t i = step; i < step + count; ++i)
      for (const auto& inner : plan.steps[i]->plans()) plans.push_back(choices_json(*inner));
    list.push_back({{"group", chosen ? choice->group : info.op},
                    {"source", chosen ? choice->source : info.source.str()},
                    {"first_step", step},
                    {"steps", count},
                    {"taken", chosen ? Json(choice->taken) : Json(nullptr)},
                    {"why", chosen ? Json(choice->why) : Json(nullptr)},
                    {"candidates", std::move(candidates)},
                    {"plans", std::move(plans)}});
    step += count;
  }
  return list;
}

Json steps_json(const Plan& plan) {
  const std::vector<std::size_t> live = plan.live_bytes();
  const std::vector<std::string> texts = print_nodes(*plan.graph, plan.nodes);
  Json out = Json::array();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const StepInfo& info = plan.steps[i]->info;
    Json origins = Json::array();
    if (const Node* node = plan.nodes[i])
      for (std::size_t r = 0; r < node->num_outputs(); ++r) origins.push_back(node->output(r)->origin);
    out.push_back({{"index", i},
                   {"name", plan.nodes[i] ? texts[i] : info.op},
                   {"op", info.op},
                   {"kernel", info.kernel},
                   {"module", info.source.modules_text()},
                   {"modules", info.source.modules},
                   {"flops", info.flops},
                   {"bytes", info.bytes},
                   {"origins", std::move(origins)},
                   {"live_bytes", live[i]}});
  }
  return out;
}

}  // namespace tenon
