#include <unordered_map>

#include "fusion/fuse.h"
#include "ir/literal.h"
#include "ir/ops/control.h"
#include "ir/print.h"

namespace tenon {
namespace {

// From the last node on: what only dead nodes read is dead when it is reached.
void erase_dead(Region& region) {
  for (auto it = region.nodes().end(); it != region.nodes().begin();) {
    Node* node = std::prev(it)->get();
    if (is_dead(*node))
      region.erase(node);
    else
      --it;
  }
}

// Two nodes compute the same when operator, attributes and operands are the same. Literals compare by value.
std::string key(const Node& n) {
  std::string k = print(n.op());
  for (const Value* v : n.inputs()) {
    if (v->kind() == Value::Kind::literal)
      k += "|" + literal_key(v->tensor());
    else
      k += fmt::format("|{}", static_cast<const void*>(v));
  }
  return k;
}

void merge_common(Region& region) {
  std::unordered_map<std::string, Node*> seen;
  for (auto it = region.nodes().begin(); it != region.nodes().end();) {
    Node* node = (it++)->get();
    if (!node->regions().empty()) continue;
    const auto [first, fresh] = seen.try_emplace(key(*node), node);
    if (fresh) continue;
    for (std::size_t i = 0; i < node->num_outputs(); ++i)
      replace_all_uses(node->output(i), first->second->output(i));
    first->second->source.merge(node->source);
    region.erase(node);
  }
}

void clean_region(Region& region) {
  for (const auto& node : region.nodes())
    for (const auto& inner : node->regions()) clean_region(*inner);
  merge_common(region);
  erase_dead(region);
  region.erase_unused_literals();
}

}  // namespace

void clean_up(Graph& graph) {
  clean_region(graph.body());
  graph.erase_unused_weights();
}

}  // namespace tenon
