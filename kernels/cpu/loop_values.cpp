// Which registers of a loop program vary over what, and which depend on which reductions.
#include <algorithm>

#include "kernels/cpu/loop_plan.h"

namespace tenon::cpu {
namespace {

bool varies(const std::vector<long>& strides, const std::vector<long>& extents) {
  for (std::size_t d = 0; d < strides.size(); ++d)
    if (strides[d] != 0 && extents[d] != 1) return true;
  return false;
}

LoopValue shape_of(const Access& access, const LoopSpace& space) {
  LoopValue v;
  v.has_p = access.p != 0 && space.p != 1;
  const bool along_row = varies(access.q, space.q);
  v.has_q = space.in_stretches ? access.q.back() != 0 : along_row;
  if (space.mode == LoopMode::rows) v.in_block = along_row;
  if (space.mode == LoopMode::columns)
    v.in_block = v.has_p || varies(access.reduced_outer, space.reduced_outer);
  return v;
}

LoopValue describe(const LoopNode& node, std::size_t at, const std::vector<LoopValue>& values,
                   const LoopSpace& space) {
  const Instruction& i = node.instruction;
  LoopValue v;
  if (i.op == LoopOp::load || i.op == LoopOp::gather || i.op == LoopOp::store)
    v = shape_of(space.operands[static_cast<std::size_t>(i.operand)], space);
  if (i.op == LoopOp::iota) v = shape_of(space.iotas[at], space);
  if (i.op == LoopOp::tile) v = {.has_p = true, .has_q = true};
  for (int a = 0; a < node.arg_count; ++a) {
    const LoopValue& from = values[static_cast<std::size_t>(i.args[static_cast<std::size_t>(a)])];
    v.walk = std::max(v.walk, from.walk);
    if (i.op == LoopOp::reduce) continue;
    v.has_p = v.has_p || from.has_p;
    v.has_q = v.has_q || from.has_q;
    v.in_block = v.in_block || from.in_block;
  }
  if (i.op == LoopOp::reduce) {
    v.has_p = space.mode == LoopMode::rows && space.p != 1;
    v.has_q = space.mode == LoopMode::columns && space.q_count != 1;
    v.walk += 1;
  }
  return v;
}

}  // namespace

std::vector<LoopValue> describe_values(const std::vector<LoopNode>& nodes, const LoopSpace& space) {
  std::vector<LoopValue> values;
  for (std::size_t at = 0; at < nodes.size(); ++at) values.push_back(describe(nodes[at], at, values, space));
  for (std::size_t at = nodes.size(); at-- > 0;) {
    const LoopNode& node = nodes[at];
    if (node.instruction.op == LoopOp::store) values[at].needed = true;
    if (!values[at].needed) continue;
    for (int a = 0; a < node.arg_count; ++a)
      values[static_cast<std::size_t>(node.instruction.args[static_cast<std::size_t>(a)])].needed = true;
  }
  return values;
}

int last_walk(const std::vector<LoopNode>& nodes, const std::vector<LoopValue>& values) {
  int last = 0;
  for (std::size_t at = 0; at < nodes.size(); ++at) {
    if (!values[at].needed) continue;
    const LoopOp op = nodes[at].instruction.op;
    if (op == LoopOp::reduce) last = std::max(last, values[at].walk - 1);
    if (op == LoopOp::store && values[at].in_block) last = std::max(last, values[at].walk);
  }
  return last;
}

}  // namespace tenon::cpu
