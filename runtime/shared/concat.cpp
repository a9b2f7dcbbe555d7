// Concatenation: its parts were written in place; those that could not be are copied.
#include "ir/ops/shape.h"
#include "runtime/shared/makers.h"

namespace tenon {

bool make_concat(Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (!node.is<Concat>()) return false;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)
    planner.copy(planner.places().at(node.input(i)), planner.places().concat_slice(node, i), &node);
  return true;
}

}  // namespace tenon
