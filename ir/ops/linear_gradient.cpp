// Gradients of the matrix products.
#include "ir/ops/functions.h"
#include "ir/ops/linear.h"

namespace tenon {

std::vector<Ref> MatMul::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref of_a = matmul(grads[0], transpose(in[1], -2, -1));
  const Ref of_b = matmul(transpose(in[0], -2, -1), grads[0]);
  return {sum_to(of_a, in[0].shape()), sum_to(of_b, in[1].shape())};
}

std::vector<Ref> Linear::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref &x = in[0], &weight = in[1];
  Dim rows = 1;
  for (std::size_t i = 0; i + 1 < x.rank(); ++i) rows = rows * x.shape()[i];
  const Ref flat_x = reshape(x, {rows, weight.shape()[1]});
  const Ref flat_grad = reshape(grads[0], {rows, weight.shape()[0]});
  std::vector<Ref> out = {reshape(matmul(flat_grad, weight), x.shape()),
                          matmul(transpose(flat_grad, 0, 1), flat_x)};
  if (in.size() > 2) out.push_back(sum(flat_grad, {0}));
  return out;
}

}  // namespace tenon
