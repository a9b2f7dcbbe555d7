// Gradients of indexing: what was read is written, what was written is read.
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/reduce.h"

namespace tenon {

// The rows that were read, added up at their places.
std::vector<Ref> IndexSelect::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref &x = in[0], &indices = in[1];
  const Dim count = numel(indices.shape());
  Shape rows = x.shape();
  rows[static_cast<std::size_t>(axis)] = count;
  return {index_add(zeros_like(x), axis, reshape(indices, {count}), reshape(grads[0], std::move(rows))), {}};
}

std::vector<Ref> Gather::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  return {scatter_sum(zeros_like(in[0]), axis, in[1], grads[0]), {}};
}

std::vector<Ref> IndexAt::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  std::vector<Ref> operands = {zeros_like(in[0]), grads[0]};
  operands.insert(operands.end(), in.begin() + 1, in.end());
  std::vector<Ref> out(in.size());
  out[0] = tenon::apply(IndexPut{.axes = axes, .accumulate = true}, std::span<const Ref>(operands));
  return out;
}

std::vector<Ref> Scatter::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref &indices = in[1], &src = in[2], &grad = grads[0];
  const bool adds = reduce == ScatterReduce::sum && include_self;
  if (!adds && reduce != ScatterReduce::none)
    throw unsupported("scatter has a gradient for reduce none and sum only");
  const Ref written = gather(grad, axis, indices);
  Shape pads(2 * src.rank(), 0);
  for (std::size_t i = 0; i < src.rank(); ++i) pads[src.rank() + i] = src.shape()[i] - indices.shape()[i];
  const Ref of_src = pad(written, std::move(pads));
  if (adds) return {grad, {}, of_src};
  const Ref zeros = full(indices.shape(), 0, grad.dtype(), grad.insertion_point());
  return {tenon::apply(Scatter{.axis = axis}, {grad, indices, zeros}), {}, of_src};
}

std::vector<Ref> IndexPut::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  std::vector<Ref> read = {grads[0]};
  read.insert(read.end(), in.begin() + 2, in.end());
  std::vector<Ref> out(in.size());
  out[1] = sum_to(tenon::apply(IndexAt{.axes = axes}, std::span<const Ref>(read)), in[1].shape());
  if (accumulate) {
    out[0] = grads[0];
    return out;
  }
  std::vector<Ref> cleared = {grads[0], grads[0].literal(0)};
  cleared.insert(cleared.end(), in.begin() + 2, in.end());
  out[0] = tenon::apply(IndexPut{.axes = axes}, std::span<const Ref>(cleared));
  return out;
}

std::vector<Ref> IndexAdd::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref of_src = from_end ? tenon::apply(IndexAt{.axes = {axis}}, {grads[0], in[1]})
                              : index_select(grads[0], axis, in[1]);
  return {grads[0], {}, of_src};
}

}  // namespace tenon
