// Pointwise operators, row reductions and groups of them: one loop program each.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "ir/ops/control.h"
#include "ir/ops/create.h"
#include "ir/ops/slices_by_index.h"
#include "runtime/axes.h"
#include "runtime/cpu/loop_step.h"
#include "runtime/cpu/makers.h"

namespace tenon {

LoopStep::LoopStep(Planner& planner, const LoweredLoop& loop, std::string kernel_name)
    : kernel_(cpu::LoopKernel::compile(loop.program)) {
  info.kernel = std::move(kernel_name);
  scratch_bytes = kernel_.scratch_bytes(planner.queue().threads());
  for (const PlannedTensor& t : loop.buffers) buffers_.push_back(t.address());
  const auto& instructions = loop.program.code.instructions;
  faults = std::any_of(instructions.begin(), instructions.end(),
                       [](const Instruction& i) { return i.op == LoopOp::gather; });
}

void LoopStep::compute(const CpuFrame& frame) const {
  std::array<void*, max_loop_buffers> buffers;
  for (std::size_t i = 0; i < buffers_.size(); ++i) buffers[i] = frame.at<void>(buffers_[i]);
  const auto bad = kernel_.run({buffers.data(), buffers_.size()}, frame.scratch, frame.pool);
  if (bad) frame.faults[0].report(bad->index, bad->from_end ? -bad->range : bad->range);
}

std::optional<Error> LoopStep::failure(std::span<const Fault> found) const {
  const std::int64_t range = found[0].detail;
  return error("index {} is outside of [{}, {})", found[0].value, std::min<std::int64_t>(range, 0),
               std::abs(range));
}

namespace {

// The axis order of the first operand of the result's shape; a channels-last one goes first.
Order order_like(Planner& planner, const Group& group, const Value* result) {
  std::optional<PlannedTensor> model;
  for (const Value* inner : group.operands()) {
    const Value* operand = group.outer(inner);
    if (operand->is_constant() || operand->shape() != result->shape()) continue;
    const PlannedTensor& place = planner.places().at(operand);
    if (!model || (is_channels_last(place) && !is_channels_last(*model))) model = place;
  }
  if (planner.places().read_channels_last(result)) return channels_last(result->rank());
  return model ? order_of(*model) : row_major(result->rank());
}

// Rows of it are read after others were written.
bool is_gathered_from(const Group& group, const Value* inner) {
  return std::any_of(group.members().begin(), group.members().end(), [&](const Node* member) {
    return slices_by_index(*member) && member->input() == inner;
  });
}

// Over an operand that nobody else needs, else where it is wanted.
void place_result(Planner& planner, const Group& group, std::size_t i) {
  const Value* result = group.node().output(i);
  for (const Value* inner : group.operands()) {
    const Value* operand = group.outer(inner);
    const auto& inputs = group.node().inputs();
    if (std::count(inputs.begin(), inputs.end(), operand) != 1 || is_gathered_from(group, inner)) continue;
    if (planner.places().place_over(result, operand, group.node())) return;
  }
  planner.places().place(result, order_like(planner, group, result));
}

/// A reduction over nothing: the reference knows what it gives.
bool reads_nothing(const Group& group) {
  const auto& inputs = group.node().inputs();
  return std::any_of(inputs.begin(), inputs.end(),
                     [](const Value* v) { return numel(v->shape()) == Dim(0); });
}

bool has_duplicates(const std::vector<const Value*>& values) {
  return std::unordered_set<const Value*>(values.begin(), values.end()).size() != values.size();
}

}  // namespace

bool is_loop(const Op& op) {
  return op.is_pointwise() || op.info().reduction || op.is<Full>() || op.is<Iota>();
}

bool make_loop(Planner& planner, const Group& group) {
  const Node& node = group.node();
  std::string why;
  if (group.results().empty() || !has_loop_types(group) || reads_nothing(group)) return false;
  const auto axes = find_loop_axes(group, why);
  const auto operands = group.operands();
  if (!axes || has_duplicates(group.results()) || operands.size() + node.num_outputs() > max_loop_buffers)
    return false;

  for (std::size_t i = 0; i < node.num_outputs(); ++i) place_result(planner, group, i);
  std::vector<PlannedTensor> reads, writes;
  std::unordered_map<const Value*, PlannedTensor> at;
  for (const Value* v : operands) reads.push_back(at[v] = planner.places().at(group.outer(v)));
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    writes.push_back(at[group.results()[i]] = planner.places().at(node.output(i)));
  const LoweredLoop loop =
      lower(group, *axes, [&](const Value* v) -> const PlannedTensor& { return at.at(v); });
  auto step = std::make_unique<LoopStep>(planner, loop, axes->reduced > 0 ? "row loop" : "loop");
  planner.emit(std::move(step), node, std::move(reads), std::move(writes));
  return true;
}

}  // namespace tenon
