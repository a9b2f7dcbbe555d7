#include "runtime/calls/matmul.h"

#include <algorithm>

#include "ir/ops/linear.h"
#include "runtime/calls/epilogue.h"

namespace tenon {

std::optional<MatmulCall> MatmulCall::match(const Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Linear>());
  if (!anchor) anchor = find_anchor(group, op_info<MatMul>());
  if (!anchor) return std::nullopt;
  MatmulCall call{.anchor = anchor, .x = group.outer(anchor->input(0))};
  const auto constant = planner.stored_weight(group.outer(anchor->input(1)));
  if (!constant || constant->rank() != 2) return std::nullopt;
  call.weight = anchor->is<Linear>() ? constant->permute(Index{1, 0}) : *constant;
  if (anchor->inputs().size() > 2) call.bias = anchor->input(2);
  const Shape& result = anchor->output()->shape();
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
          .depth = K};
}

}  // namespace tenon
