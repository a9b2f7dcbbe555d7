#include "fusion/replaced.h"

#include <unordered_set>

namespace tenon {
namespace {

using Values = std::vector<const Value*>;

// The imported values that a node's results, and those of its members, equal.
void add_results(const Node& node, const Values& imported, Values& found) {
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    if (const int origin = node.output(i)->origin; origin >= 0)
      found.push_back(imported.at(static_cast<std::size_t>(origin)));
  for (const auto& region : node.regions())
    for (const auto& member : region->nodes()) add_results(*member, imported, found);
}

}  // namespace

std::unordered_map<const Node*, const Node*> replaced_nodes(const Graph& imported, const Graph& fused) {
  Values by_origin;
  for (const auto& node : imported.body().nodes())
    for (std::size_t i = 0; i < node->num_outputs(); ++i) by_origin.push_back(node->output(i));

  std::unordered_map<const Node*, const Node*> owner;
  for (const auto& node : fused.body().nodes()) {
    std::unordered_set<const Value*> operands;
    for (const Value* v : node->inputs())
      if (v->origin >= 0) operands.insert(by_origin.at(static_cast<std::size_t>(v->origin)));
    Values open;
    add_results(*node, by_origin, open);
    while (!open.empty()) {
      const Value* v = open.back();
      open.pop_back();
      if (!v->node() || operands.contains(v) || !owner.emplace(v->node(), node.get()).second) continue;
      for (const Value* in : v->node()->inputs()) open.push_back(in);
    }
  }
  return owner;
}

std::vector<const Node*> replaced_nodes(const Graph& imported, const Node& fused) {
  const auto owners = replaced_nodes(imported, fused.parent().graph());
  std::vector<const Node*> found;
  for (const auto& node : imported.body().nodes())
    if (const auto owner = owners.find(node.get()); owner != owners.end() && owner->second == &fused)
      found.push_back(node.get());
  return found;
}

}  // namespace tenon
