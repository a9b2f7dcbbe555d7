// Concatenation: its parts were written in place; those that could not be are copied.
#include <fmt/format.h>

#include "ir/ops/shape.h"
#include "runtime/complex_parts.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

/// Complex numbers seen as pairs are copied as what they are.
bool emit_pairs(Planner& planner, const Node& node) {
  if (node.inputs().size() != 2) return false;
  BufferAssignment& assignment = planner.assignment();
  const auto from = whole_of(assignment.at(node.input(0)), assignment.at(node.input(1)));
  const auto to = whole_of(assignment.concat_slice(node, 0), assignment.concat_slice(node, 1));
  if (from && to) planner.copy(*from, *to, &node);
  return from && to;
}

void emit(Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (emit_pairs(planner, node)) return;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    const PlannedTensor slice = planner.assignment().concat_slice(node, i);
    // A shorter concatenation that begins this one may have put the part there.
    planner.derived({node.input(i)}, fmt::format("in buffer {} at {}", slice.buffer(), slice.offset()), [&] {
      planner.copy(planner.assignment().at(node.input(i)), slice, &node);
      return slice;
    });
  }
}

std::vector<Candidate> lower_concat(const Planner& planner, const Group& group) {
  if (!group.node().is<Concat>()) return {};
  const Work work{.bytes = 2 * bytes_of(group.node().output()->type())};
  return {{{.kernel = "copies", .work = work, .seconds = planner.estimate(0, work.bytes)}, emit}};
}

}  // namespace

std::vector<OpLowering> concat_lowerings() { return {{&op_info<Concat>(), lower_concat}}; }

}  // namespace tenon
