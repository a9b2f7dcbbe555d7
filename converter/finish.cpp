#include "converter/finish.h"

#include "ir/ops/control.h"
#include "ir/verify.h"

namespace tenon::converter {

namespace {

/// Drops nodes nobody reads: lengths that were asked for, views that were not used.
void erase_dead_nodes(Region& region) {
  std::vector<Node*> nodes;
  for (const auto& node : region.nodes()) nodes.push_back(node.get());
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it)
    if (is_dead(**it)) region.erase(*it);
}

}  // namespace

void finish(Graph& graph) {
  for (Region* region : program_regions(graph)) {
    erase_dead_nodes(*region);
    region->erase_unused_literals();
  }
  graph.erase_unused_weights();
  verify(graph);
  number_origins(graph);
}

}  // namespace tenon::converter
