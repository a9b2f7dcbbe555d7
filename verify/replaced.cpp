#include "verify/replaced.h"

#include <unordered_set>

namespace tenon {

std::vector<const Node*> replaced_nodes(const Graph& imported, const Node& node) {
  std::unordered_set<int> known;
  for (const auto& other : node.parent().nodes())
    for (std::size_t i = 0; other.get() != &node && i < other->num_outputs(); ++i)
      if (other->output(i)->origin >= 0) known.insert(other->output(i)->origin);
  std::unordered_set<int> wanted;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    if (node.output(i)->origin >= 0) wanted.insert(node.output(i)->origin);
  std::vector<const Node*> found;
  const auto& nodes = imported.body().nodes();
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    bool needed = false;
    for (std::size_t i = 0; i < (*it)->num_outputs(); ++i)
      needed = needed || wanted.contains((*it)->output(i)->origin);
    if (!needed) continue;
    found.insert(found.begin(), it->get());
    for (const Value* v : (*it)->inputs())
      if (v->node() && !known.contains(v->origin)) wanted.insert(v->origin);
  }
  return found;
}

}  // namespace tenon
