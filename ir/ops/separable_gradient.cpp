#include "ir/ops/separable_gradient.h"

#include "ir/ops/functions.h"

namespace tenon {

Ref unit_vectors(const Dim& size, const Ref& like) {
  const Ref i = iota(size, like.insertion_point());
  return cast(like.dtype(), equal(reshape(i, {size, Dim(1)}), i));
}

Ref back_through(const Ref& grad, std::size_t axis, const Ref& matrix) {
  const auto a = static_cast<std::int64_t>(axis), last = static_cast<std::int64_t>(grad.rank()) - 1;
  return transpose(matmul(transpose(grad, a, last), transpose(matrix, 0, 1)), a, last);
}

Ref separable_gradient(const Ref& grad, const Shape& input,
                       const std::function<Ref(const Ref&, std::size_t, const Dim&)>& one) {
  Ref out = grad;
  for (std::size_t axis = 2; axis < input.size(); ++axis) {
    const Dim &from = input[axis], to = grad.shape()[axis];
    Shape shape(input.size(), Dim(1));
    shape[0] = shape[axis] = from;
    const Ref responses = one(reshape(unit_vectors(from, grad), shape), axis, to);
    out = back_through(out, axis, reshape(responses, {from, to}));
  }
  return out;
}

}  // namespace tenon
