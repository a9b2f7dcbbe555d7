// Gradients of the operators that move elements: they move back.
#include "ir/ops/functions.h"
#include "ir/ops/reference.h"
#include "ir/ops/separable_gradient.h"
#include "ir/ops/shape.h"

namespace tenon {

std::vector<Ref> Reshape::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  return {tenon::reshape(grads[0], in[0].shape())};
}

std::vector<Ref> Permute::gradient(RefSpan, RefSpan, RefSpan grads) const {
  return {tenon::permute(grads[0], inverse(axes))};
}

std::vector<Ref> Expand::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  return {sum_to(grads[0], in[0].shape())};
}

std::vector<Ref> Flip::gradient(RefSpan, RefSpan, RefSpan grads) const {
  return {tenon::flip(grads[0], axes)};
}

std::vector<Ref> Slice::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const auto at = static_cast<std::size_t>(axis);
  const Ref &x = in[0], &grad = grads[0];
  if (step == 1) {
    Shape pads(2 * x.rank(), 0);
    pads[at] = start;
    pads[x.rank() + at] = x.shape()[at] - start - grad.shape()[at];
    return {pad(grad, std::move(pads))};
  }
  const Ref count = iota(grad.shape()[at], grad.insertion_point());
  const Ref rows = count * static_cast<double>(step) + dim_value(start, count);
  return {index_add(zeros_like(x), axis, rows, grad)};
}

std::vector<Ref> Concat::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  std::vector<Ref> parts;
  Dim at = 0;
  for (const Ref& x : in) {
    const Dim end = at + x.shape()[static_cast<std::size_t>(axis)];
    parts.push_back(slice(grads[0], axis, at, end));
    at = end;
  }
  return parts;
}

std::vector<Ref> Pad::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  if (mode != PadMode::constant) {  // what is repeated is added up
    Ref out = grads[0];
    const std::size_t rank = in[0].rank();
    for (std::size_t axis = 0; axis < rank; ++axis) {
      if (pads[axis] == 0 && pads[rank + axis] == 0) continue;
      const Pad along{.pads = {0, pads[axis], 0, pads[rank + axis]}, .mode = mode};
      const Ref units = unit_vectors(in[0].shape()[axis], out);
      out = back_through(out, axis, tenon::apply(along, {units}));
    }
    return {out};
  }
  Shape back;
  for (const Dim& amount : pads) back.push_back(-amount);
  return {tenon::pad(grads[0], std::move(back))};
}

}  // namespace tenon
