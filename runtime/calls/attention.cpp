#include "runtime/calls/attention.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/attention.h"
#include "runtime/arithmetic.h"

namespace tenon {
namespace {

std::int64_t heads_of(const Value& operand) {
  return operand.rank() < 3 ? 1 : operand.shape()[operand.rank() - 3].value();
}

constexpr auto lies_in_rows = [](const Strided& t) { return last_axis_is_contiguous(t); };

}  // namespace

std::optional<AttentionCall> AttentionCall::match(const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<Attention>();
  if (!op) return std::nullopt;
  AttentionCall call{.q = node.input(0), .k = node.input(1), .v = node.input(2)};
  const std::size_t rank = node.output()->rank();
  Index sizes = eval(node.output()->shape(), {});
  if (rank > 4 || numel(sizes) == 0) return std::nullopt;
  for (const Value* operand : {call.q, call.k, call.v})
    if (operand->rank() > rank || numel(operand->shape()) == 0) return std::nullopt;
  if (node.inputs().size() > 3) call.mask = node.input(3);
  if (node.inputs().size() > 4) call.sink = node.input(4);
  sizes.insert(sizes.begin(), 4 - rank, 1);
  const auto size_of_last = [](const Value* operand, std::size_t back) {
    return operand->shape()[operand->rank() - back].value();
  };
  AttentionShape& shape = call.shape;
  shape.batch = sizes[0];
  shape.heads = sizes[1];
  shape.kv_heads = std::max(heads_of(*call.k), heads_of(*call.v));
  shape.queries = size_of_last(call.q, 2);
  shape.keys = size_of_last(call.k, 2);
  shape.size = size_of_last(call.q, 1);
  shape.value_size = size_of_last(call.v, 1);
  shape.scale = static_cast<float>(op->scale.value_or(1 / std::sqrt(static_cast<double>(shape.size))));
  shape.softcap = static_cast<float>(op->softcap);
  shape.causal = op->causal;
  shape.nan_rows = op->nan_rows;
  return call;
}

Work AttentionCall::work() const {
  Work work{.flops = shape.flops(),
            .batch = shape.batch * shape.heads,
            .rows = shape.queries,
            .columns = shape.keys,
            .depth = shape.size,
            .arithmetic = arithmetic_of(q->dtype(), k->dtype())};
  for (const Value* operand : {q, k, v, mask, sink})
    if (operand) work.bytes += bytes_of(operand->type());
  work.bytes += static_cast<double>(shape.batch * shape.heads * shape.queries * shape.value_size) *
                static_cast<double>(size_of(v->dtype()));
  return work;
}

HeadStrides head_strides(const Strided& heads) {
  return {heads.strides()[0], heads.strides()[1], heads.strides()[2]};
}

PlacedAttention place_attention(Planner& planner, const Group& group, const AttentionCall& call) {
  const Value* result = group.node().output();
  const Index sizes = eval(result->shape(), {});
  PlacedAttention placed;
  for (const Value* operand : {call.q, call.k, call.v}) {
    const PlannedTensor place = planner.assignment().at(operand);
    placed.reads.push_back(lies_in_rows(place) ? place : planner.dense(operand));
  }
  placed.q = as_heads(placed.reads[0], sizes);
  Index of_keys = sizes;
  if (sizes.size() > 2) of_keys[sizes.size() - 3] = call.shape.kv_heads;
  placed.k = as_heads(placed.reads[1], of_keys);
  placed.v = as_heads(placed.reads[2], of_keys);
  const Order wished = planner.assignment().order_for_reader(result);
  const bool keeps_rows = wished.back() == static_cast<std::int64_t>(wished.size()) - 1;
  placed.result =
      planner.assignment().assign(result, keeps_rows ? wished : row_major(wished.size()), lies_in_rows);
  placed.out = as_heads(placed.result, sizes);
  if (call.mask) {
    placed.reads.push_back(planner.assignment().at(call.mask));
    Index scores = sizes;
    scores.back() = call.shape.keys;
    placed.mask = as_heads(placed.reads.back().expand(scores), scores);
  }
  if (call.sink) {
    placed.sink = planner.dense(call.sink);
    placed.reads.push_back(*placed.sink);
  }
  return placed;
}

double estimate_copies(const Planner& planner, const AttentionCall& call) {
  double seconds = 0;
  for (const Value* operand : {call.q, call.k, call.v})
    seconds += planner.estimate_copy(operand, lies_in_rows);
  return seconds;
}

}  // namespace tenon
