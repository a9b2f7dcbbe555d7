// Gradients of the reductions.
#include "ir/ops/functions.h"
#include "ir/ops/reduce.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

// A result of the reduction with its axes kept (size 1), so that it broadcasts against x.
Ref kept(const Ref& result, const Ref& x, const Axes& axes) {
  return reshape(result, reduced(x.type(), axes, true).shape);
}

// The gradient goes to the elements that are equal to the extremum, in equal parts.
Ref of_extremum(const Ref& x, const Ref& y, const Ref& grad, const Axes& axes) {
  const Ref mask = cast(x.dtype(), equal(x, kept(y, x, axes)));
  return mask * (kept(grad, x, axes) / sum(mask, axes, true));
}

// Products along the last axis of all elements before each one.
Ref products_before(const Ref& x) {
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  Shape one = x.shape();
  one.back() = 1;
  const Ref first = full(std::move(one), 1, x.dtype(), x.insertion_point());
  return cumprod(concat(std::vector{first, slice(x, last, 0, x.shape().back() - 1)}, last), last);
}

}  // namespace

std::vector<Ref> Sum::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  return {expand(kept(grads[0], in[0], axes), in[0].shape())};
}

std::vector<Ref> Mean::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  Dim count = 1;
  for (const std::int64_t axis : axes) count = count * in[0].shape()[static_cast<std::size_t>(axis)];
  return {expand(kept(grads[0] / dim_value(count, grads[0]), in[0], axes), in[0].shape())};
}

// The product of the others, without a division: zeros are allowed.
std::vector<Ref> Prod::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref& x = in[0];
  if (axes.empty()) return {grads[0]};
  const Axes order = moved_last(x.rank(), axes);
  const Ref moved = permute(x, order);
  Shape rows(moved.shape().begin(), moved.shape().end() - static_cast<std::ptrdiff_t>(axes.size()));
  Dim count = 1;
  for (const std::int64_t axis : axes) count = count * x.shape()[static_cast<std::size_t>(axis)];
  rows.push_back(count);
  const Ref flat = reshape(moved, rows);
  const auto last = static_cast<std::int64_t>(rows.size()) - 1;
  const Ref others = products_before(flat) * flip(products_before(flip(flat, {last})), {last});
  return {kept(grads[0], x, axes) * permute(reshape(others, moved.shape()), inverse(order))};
}

std::vector<Ref> Amax::gradient(RefSpan in, RefSpan out, RefSpan grads) const {
  return {of_extremum(in[0], out[0], grads[0], axes)};
}
std::vector<Ref> Amin::gradient(RefSpan in, RefSpan out, RefSpan grads) const {
  return {of_extremum(in[0], out[0], grads[0], axes)};
}

std::vector<Ref> CumSum::gradient(RefSpan, RefSpan, RefSpan grads) const {
  return {flip(cumsum(flip(grads[0], {axis}), axis), {axis})};
}

}  // namespace tenon
