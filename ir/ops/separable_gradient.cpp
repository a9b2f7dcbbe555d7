#include "ir/ops/separable_gradient.h"

#include <numeric>

#include "ir/ops/cast.h"
#include "ir/ops/create.h"
#include "ir/ops/linear.h"
#include "ir/ops/logic.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

// Row i: what the unit vector i becomes.
Ref matrix_of(const Ref& grad, std::size_t axis, const Dim& from,
              const std::function<Ref(const Ref&, std::size_t, const Dim&)>& one) {
  const Place& place = grad.place();
  Shape shape(grad.rank(), Dim(1));
  shape[0] = shape[axis] = from;
  const Ref units = cast(grad.dtype(), equal(reshape(iota(from, place), {from, Dim(1)}), iota(from, place)));
  const Dim to = grad.shape()[axis];
  return reshape(one(reshape(units, shape), axis, to), {from, to});
}

}  // namespace

Ref separable_gradient(const Ref& grad, const Shape& input,
                       const std::function<Ref(const Ref&, std::size_t, const Dim&)>& one) {
  Ref out = grad;
  for (std::size_t axis = 2; axis < input.size(); ++axis) {
    const Ref matrix = matrix_of(out, axis, input[axis], one);
    const auto last = static_cast<std::int64_t>(input.size()) - 1;
    out = transpose(matmul(transpose(out, static_cast<std::int64_t>(axis), last), transpose(matrix, 0, 1)),
                    static_cast<std::int64_t>(axis), last);
  }
  return out;
}

}  // namespace tenon
