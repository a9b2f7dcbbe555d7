#include "runtime/calls/batched_matmul.h"

#include <algorithm>

#include "ir/ops/linear.h"
#include "runtime/arithmetic.h"
#include "runtime/calls/epilogue.h"
#include "runtime/widen.h"

namespace tenon {
namespace {

std::vector<BatchAxis> batch_axes(const Strided& a, const Strided& b, const Strided& c) {
  std::vector<BatchAxis> axes;
  for (std::size_t i = 0; i + 2 < c.rank(); ++i) {
    const BatchAxis next{c.shape()[i], a.strides()[i], b.strides()[i], c.strides()[i]};
    if (next.size == 1) continue;
    if (!axes.empty()) {
      BatchAxis& last = axes.back();
      if (last.a == next.a * next.size && last.b == next.b * next.size && last.c == next.c * next.size) {
        last = {last.size * next.size, next.a, next.b, next.c};
        continue;
      }
    }
    axes.push_back(next);
  }
  return axes;
}

Strided transposed(const Strided& t) {
  Order order = row_major(t.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return t.permute(order);
}

// The operand with the batch axes of the result in front.
Strided with_batch(const Strided& t, const Index& result) {
  Index shape = result;
  shape[shape.size() - 2] = t.shape()[t.rank() - 2];
  shape[shape.size() - 1] = t.shape()[t.rank() - 1];
  return t.expand(shape);
}

}  // namespace

std::optional<BatchedMatmulCall> BatchedMatmulCall::match(const Group& group) {
  const Node* anchor = find_anchor(group, op_info<MatMul>());
  if (!anchor) anchor = find_anchor(group, op_info<Linear>());
  if (!anchor) return std::nullopt;
  return of(*anchor, group.outer(anchor->input(0)), group.outer(anchor->input(1)));
}

std::optional<BatchedMatmulCall> BatchedMatmulCall::match_halves(const Group& group) {
  for (const Node* member : group.members()) {
    if (!member->is<MatMul>() && !member->is<Linear>()) continue;
    const auto read = [&](std::size_t i) {
      const Value* const half = widened_for(*member, i);
      const Value* const factor = half ? half : member->input(i);
      return group.contains(factor) ? nullptr : group.outer(factor);
    };
    const Value *const left = read(0), *const right = read(1);
    return left && right ? of(*member, left, right) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<BatchedMatmulCall> BatchedMatmulCall::of(const Node& anchor, const Value* left,
                                                       const Value* right) {
  if (anchor.output()->rank() < 2 || numel(anchor.output()->shape()) == 0) return std::nullopt;
  BatchedMatmulCall call{
      .anchor = &anchor, .left = left, .right = right, .right_is_transposed = anchor.is<Linear>()};
  if (anchor.inputs().size() > 2) call.bias = anchor.input(2);
  return call;
}

Work BatchedMatmulCall::work() const {
  const Index result = eval(anchor->output()->shape(), {});
  const std::int64_t N = result.back(), M = result[result.size() - 2], K = left->shape().back().value();
  const std::int64_t count = numel(result);
  return {.flops = 2.0 * static_cast<double>(count) * static_cast<double>(K),
          .bytes = bytes_of(left->type()) + bytes_of(right->type()) + bytes_of(anchor->output()->type()),
          .batch = count / (M * N),
          .rows = M,
          .columns = N,
          .depth = K,
          .arithmetic = arithmetic_of(left->dtype(), right->dtype())};
}

BatchedLayout BatchedLayout::of(const Strided& left, const Strided& right, bool right_is_transposed,
                                const Strided& c) {
  const Strided a = with_batch(left, c.shape());
  const Strided b = with_batch(right_is_transposed ? transposed(right) : right, c.shape());
  const std::size_t r = c.rank();
  BatchedLayout layout{.M = c.shape()[r - 2],
                       .N = c.shape()[r - 1],
                       .K = a.shape()[r - 1],
                       .a_row = a.strides()[r - 2],
                       .a_column = a.strides()[r - 1],
                       .b_row = b.strides()[r - 2],
                       .b_column = b.strides()[r - 1],
                       .c_row = c.strides()[r - 2],
                       .batch = batch_axes(a, b, c)};
  if (layout.batch.empty()) return layout;
  const BatchAxis& inner = layout.batch.back();
  const bool one_matrix =
      inner.b == 0 && inner.a == layout.M * layout.a_row && inner.c == layout.M * layout.c_row;
  if (!one_matrix) return layout;
  layout.M *= inner.size;
  layout.batch.pop_back();
  return layout;
}

}  // namespace tenon
