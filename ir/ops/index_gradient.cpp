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

namespace {

// Places of x, and what is joined to them.
struct Joined {
  Ref x, src;
};

// Those that are the result share what comes to it.
Joined of_extremes(const Scatter& op, const Joined& in, const Ref& indices, const Ref& out, const Ref& grad) {
  const Ref x_is = equal(in.x, out), src_is = equal(in.src, gather(out, op.axis, indices));
  const auto number = [&](const Ref& flags) { return cast(grad.dtype(), flags); };
  const Ref share = grad / scatter_sum(number(x_is), op.axis, indices, number(src_is));
  return {where(x_is, share, 0), where(src_is, gather(share, op.axis, indices), 0)};
}

// Each is multiplied by all others: by none but zeros where two or more are zero.
Joined of_product(const Scatter& op, const Joined& in, const Ref& indices, const Ref& grad) {
  const auto is_zero = [](const Ref& v) { return equal(v, v.literal(0)); };
  const auto without_zeros = [&](const Ref& v) { return where(is_zero(v), v.literal(1), v); };
  const auto zeros = [&](const Ref& v) { return cast(DType::i64, is_zero(v)); };
  const Ref count = scatter_sum(zeros(in.x), op.axis, indices, zeros(in.src));
  const Ref product = apply(Scatter{.axis = op.axis, .reduce = ScatterReduce::prod},
                            {without_zeros(in.x), indices, without_zeros(in.src)});
  const auto of = [&](const Ref& v, const Ref& grad_at, const Ref& product_at, const Ref& count_at) {
    const Ref others =
        where(equal(count_at - zeros(v), count_at.literal(0)), product_at / without_zeros(v), 0);
    return grad_at * others;
  };
  const auto at_src = [&](const Ref& v) { return gather(v, op.axis, indices); };
  return {of(in.x, grad, product, count), of(in.src, at_src(grad), at_src(product), at_src(count))};
}

}  // namespace

std::vector<Ref> Scatter::gradient(RefSpan in, RefSpan out, RefSpan grads) const {
  const Ref &indices = in[1], &src = in[2], &grad = grads[0];
  Shape pads(2 * src.rank(), 0);
  for (std::size_t i = 0; i < src.rank(); ++i) pads[src.rank() + i] = src.shape()[i] - indices.shape()[i];
  const auto of_src = [&](const Ref& of_written) { return pad(of_written, pads); };
  if (reduce == ScatterReduce::none) {
    const Ref zeros = full(indices.shape(), 0, grad.dtype(), grad.insertion_point());
    return {
        tenon::apply(Scatter{.axis = axis}, {grad, indices, zeros}), {}, of_src(gather(grad, axis, indices))};
  }
  if (!include_self || reduce == ScatterReduce::mean)
    throw unsupported("scatter has no gradient for a reduction without x, nor for mean");
  if (reduce == ScatterReduce::sum) return {grad, {}, of_src(gather(grad, axis, indices))};
  Ref read = src;
  for (std::size_t i = 0; i < src.rank(); ++i)
    read = slice(read, static_cast<std::int64_t>(i), Dim(0), indices.shape()[i]);
  const Joined joined = reduce == ScatterReduce::prod
                            ? of_product(*this, {in[0], read}, indices, grad)
                            : of_extremes(*this, {in[0], read}, indices, out[0], grad);
  return {joined.x, {}, of_src(joined.src)};
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
