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
  const bool along_row = varies(access.q, access.q_extents);
  v.has_q = space.in_stretches ? access.q.back() != 0 : along_row;
  // Blocks begin where the inner dims do.
  v.repeats = space.mode == LoopMode::map && v.has_q && !v.has_p && access.q[0] == 0;
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
  bool repeats = i.op == LoopOp::prim;
  for (int a = 0; a < node.arg_count; ++a) {
    const LoopValue& from = values[static_cast<std::size_t>(node.arg(a))];
    v.walk = std::max(v.walk, from.walk);
    repeats = repeats && !from.has_p && (from.repeats || !from.has_q);
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
  if (i.op != LoopOp::load && i.op != LoopOp::iota) v.repeats = repeats && v.has_q;
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
    for (int a = 0; a < node.arg_count; ++a) values[static_cast<std::size_t>(node.arg(a))].needed = true;
  }
  return values;
}

bool only_primitives_read(const std::vector<LoopNode>& nodes, Reg r) {
  return std::all_of(nodes.begin(), nodes.end(), [&](const LoopNode& user) {
    return user.instruction.op == LoopOp::prim || !user.reads(r);
  });
}

FoldFn fold_in_memory(const LoopNode& node, DType dtype, LoopMode mode) {
  const SmallFloatOps* const small = simd_ops().small_floats(dtype);
  if (!small || node.products || node.instruction.op != LoopOp::reduce) return nullptr;
  const FloatFolds& folds = mode == LoopMode::columns ? small->fold_columns : small->fold_rows;
  if (node.squares) return node.arg_count == 2 ? folds.sum_squared_differences : folds.sum_squares;
  switch (node.instruction.reduce) {
    case Reduce::sum: return folds.sum;
    case Reduce::max: return folds.max;
    case Reduce::min: return folds.min;
    default: return nullptr;
  }
}

std::optional<OperatorInMemory> operator_in_memory(const LoopProgram& program,
                                                   const std::vector<LoopNode>& nodes,
                                                   const std::vector<LoopValue>& values,
                                                   const LoopSpace& space) {
  if (space.mode == LoopMode::columns) return std::nullopt;
  std::optional<DType> read, dtype;
  OperatorInMemory found{.reg = -1, .store = -1, .dtype = DType::f16, .loop = nullptr};
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    const Instruction& i = nodes[r].instruction;
    if (!values[r].needed || !(values[r].has_q || i.op == LoopOp::store)) continue;
    if (Reg* const place = i.op == LoopOp::prim    ? &found.reg
                           : i.op == LoopOp::store ? &found.store
                                                   : nullptr) {
      if (*place >= 0) return std::nullopt;
      *place = static_cast<Reg>(r);
    }
    if (i.op == LoopOp::prim) continue;
    if (i.op != LoopOp::load && i.op != LoopOp::store) return std::nullopt;
    const auto operand = static_cast<std::size_t>(i.operand);
    const DType type = program.code.operands[operand].dtype;
    const Access& access = space.operands[operand];
    std::optional<DType>& known = i.op == LoopOp::load ? read : dtype;
    if (!space.has_one_stride(access) || access.q.back() != 1 || known.value_or(type) != type)
      return std::nullopt;
    known = type;
  }
  if (found.reg < 0 || found.store < 0) return std::nullopt;
  const LoopNode& node = nodes[static_cast<std::size_t>(found.reg)];
  const bool casts = node.fused < 0 && node.instruction.prim == Prim::cast;
  if (casts && node.instruction.type != *dtype && node.instruction.type != DType::f32) return std::nullopt;
  if (read.value_or(*dtype) != (casts ? DType::f64 : *dtype)) return std::nullopt;
  // Rows that are reduced twice are widened once.
  int folds = 0;
  for (std::size_t r = 0; r < nodes.size(); ++r) {
    if (nodes[r].instruction.op != LoopOp::reduce || !values[r].needed) continue;
    const Reg of = nodes[r].arg(0);
    if (++folds > 1 || casts || of == found.reg || !values[static_cast<std::size_t>(of)].has_q ||
        !fold_in_memory(nodes[r], *dtype, space.mode))
      return std::nullopt;
  }
  const LoopValue &result = values[static_cast<std::size_t>(found.reg)],
                  &stored = values[static_cast<std::size_t>(found.store)];
  const SmallFloatOps* const ops = simd_ops().small_floats(*dtype);
  if (!ops || result.has_p != stored.has_p || !stored.has_q) return std::nullopt;
  const auto prim = static_cast<std::size_t>(node.instruction.prim);
  found.dtype = *dtype;
  found.loop = node.fused >= 0 ? ops->fused[node.fused] : ops->prim[prim];
  return found.loop ? std::optional(found) : std::nullopt;
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
