#include "runtime/calls/matmul.h"

#include <algorithm>

#include "ir/ops/linear.h"
#include "runtime/arithmetic.h"
#include "runtime/calls/epilogue.h"
#include "runtime/widen.h"

namespace tenon {

std::optional<MatmulCall> MatmulCall::match(const Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Linear>());
  if (!anchor) anchor = find_anchor(group, op_info<MatMul>());
  return anchor ? of(planner, group, *anchor, group.outer(anchor->input(0))) : std::nullopt;
}

std::optional<MatmulCall> MatmulCall::match_halves(const Planner& planner, const Group& group) {
  for (const Node* member : group.members()) {
    if (!member->is<MatMul>() && !member->is<Linear>()) continue;
    const Value* const half = widened_for(*member);
    if (!half || group.contains(half) || group.contains(member->input(1))) return std::nullopt;
    return of(planner, group, *member, group.outer(half));
  }
  return std::nullopt;
}

std::optional<MatmulCall> MatmulCall::of(const Planner& planner, const Group& group, const Node& anchor,
                                         const Value* x) {
  MatmulCall call{.anchor = &anchor, .x = x};
  const auto constant = planner.stored_weight(group.outer(anchor.input(1)));
  if (!constant || constant->rank() != 2) return std::nullopt;
  call.weight = anchor.is<Linear>() ? constant->permute(Index{1, 0}) : *constant;
  if (anchor.inputs().size() > 2) call.bias = anchor.input(2);
  const Shape& result = anchor.output()->shape();
  call.N = result.back().value();
  call.K = call.x->shape().back().value();
  call.M = numel(result).value() / std::max<std::int64_t>(call.N, 1);
  if (call.M == 0 || call.N == 0) return std::nullopt;
  return call;
}

Work MatmulCall::work() const {
  return {.flops = 2.0 * static_cast<double>(M) * static_cast<double>(N) * static_cast<double>(K),
          .bytes = bytes_of(x->type()) + bytes_of(weight) + bytes_of(anchor->output()->type()),
          .rows = M,
          .columns = N,
          .depth = K,
          .arithmetic = arithmetic_of(x->dtype(), weight.dtype())};
}

}  // namespace tenon
