#include "runtime/calls/loop.h"

#include <algorithm>
#include <unordered_set>

#include "ir/flops.h"
#include "ir/ops/axis_maps.h"
#include "ir/ops/create.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

// A member reads the operand along the axes of its result, at other indices.
bool is_mapped(const Group& group, const Value* inner) {
  return std::any_of(group.members().begin(), group.members().end(),
                     [&](const Node* member) { return mapped_axes(*member) && member->input() == inner; });
}

// The axis order of the first operand of the result's shape; a channels-last one goes first.
Order order_like(Planner& planner, const Group& group, const Value* result) {
  std::optional<PlannedTensor> model;
  for (const Value* inner : group.operands()) {
    const Value* operand = group.outer(inner);
    const bool runs_along =
        operand->shape() == result->shape() || (operand->rank() == result->rank() && is_mapped(group, inner));
    if (operand->is_constant() || !runs_along) continue;
    const PlannedTensor& place = planner.assignment().at(operand);
    if (!model || (is_channels_last(place) && !is_channels_last(*model))) model = place;
  }
  // A loop along few channels of an image whose rows lie elsewhere is slower than to transpose its result.
  constexpr std::int64_t few_channels = 8;
  const bool follows =
      model && !is_channels_last(*model) && result->rank() > 2 && result->shape()[1].value() < few_channels;
  if (!follows && planner.assignment().read_channels_last(result)) return channels_last(result->rank());
  return model ? order_of(*model) : row_major(result->rank());
}

// Elements of it are read after others were written.
bool is_gathered_from(const Group& group, const Value* inner) {
  return std::any_of(group.members().begin(), group.members().end(),
                     [&](const Node* member) { return gathers(*member) && member->input() == inner; });
}

// Over an operand that nobody else needs, else where it is wanted.
void assign_result(Planner& planner, const Group& group, std::size_t i) {
  const Value* result = group.node().output(i);
  for (const Value* inner : group.operands()) {
    const Value* operand = group.outer(inner);
    const auto& inputs = group.node().inputs();
    if (std::count(inputs.begin(), inputs.end(), operand) != 1 || is_gathered_from(group, inner)) continue;
    if (planner.assignment().assign_over(result, operand, group.node())) return;
  }
  planner.assignment().assign(result, order_like(planner, group, result));
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
  return op.is_pointwise() || op.info().reduction || op.is<Full>() || op.is<Iota>() || op.is<Pad>();
}

std::optional<LoopCall> LoopCall::match(const Group& group) {
  if (group.results().empty() || !has_loop_types(group) || reads_nothing(group)) return std::nullopt;
  std::string why;
  auto axes = find_loop_axes(group, why);
  if (!axes || has_duplicates(group.results())) return std::nullopt;
  return LoopCall{*std::move(axes)};
}

Work LoopCall::work(const Group& group) const {
  Work work{.flops = flops(group.node())};
  const std::size_t kept = axes.sizes.size() - static_cast<std::size_t>(axes.reduced);
  for (std::size_t i = 0; i < axes.sizes.size(); ++i) (i < kept ? work.rows : work.columns) *= axes.sizes[i];
  for (const Value* v : group.operands())  // of what indices choose from, they read what they choose
    if (!is_gathered_from(group, v)) work.bytes += bytes_of(v->type());
  for (const Node* member : group.members())
    if (gathers(*member)) work.bytes += bytes_of(member->output()->type());
  for (const Value* v : group.results()) work.bytes += bytes_of(v->type());
  return work;
}

PlacedLoop place_loop(Planner& planner, const Group& group, const LoopCall& call) {
  const Node& node = group.node();
  for (std::size_t i = 0; i < node.num_outputs(); ++i) assign_result(planner, group, i);
  PlacedLoop placed;
  std::unordered_map<const Value*, PlannedTensor> at;
  for (const Value* v : group.operands())
    placed.reads.push_back(at[v] = planner.assignment().at(group.outer(v)));
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    placed.writes.push_back(at[group.results()[i]] = planner.assignment().at(node.output(i)));
  placed.loop = build_loop(
      group, call.axes, [&](const Value* v) -> const PlannedTensor& { return at.at(v); },
      [&](const Tensor& table) { return placed.reads.emplace_back(planner.constant(table)); });
  return placed;
}

}  // namespace tenon
