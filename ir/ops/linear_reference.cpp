// References of the matrix products.
#include "ir/ops/linear.h"
#include "ir/ops/reference.h"

namespace tenon {

void MatMul::reference(InSpan in, OutSpan out) const {
  const Index& shape = out[0].shape();
  const Index batch(shape.begin(), shape.end() - 2);
  const std::int64_t m = shape[batch.size()], n = shape.back(), k = in[0].shape().back();
  const auto stretched = [&](const Tensor& t) {
    Index full = batch;
    full.insert(full.end(), t.shape().end() - 2, t.shape().end());
    return widened(t).expand(full);
  };
  const Tensor a = stretched(in[0]), b = stretched(in[1]);
  Tensor c = Tensor::zeros(a.dtype(), shape);
  dispatch_wide(in[0].dtype(), [&]<class T>(dtype_tag<T>) {
    T* result = c.mutable_data<T>();
    for_each_index(batch, [&](std::span<const std::int64_t> index) {
      std::int64_t at_a = 0, at_b = 0;
      for (std::size_t i = 0; i < index.size(); ++i) {
        at_a += index[i] * a.strides()[i];
        at_b += index[i] * b.strides()[i];
      }
      multiply_add(a.data<T>() + at_a, k, b.data<T>() + at_b, n, result, n, m, n, k);
      result += m * n;
    });
  });
  out[0].copy_from(c);
}

void Linear::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]);
  const Tensor weight = widened(in[1].permute(Axes{1, 0}));
  const std::int64_t k = weight.shape()[0], n = weight.shape()[1];
  const std::int64_t m = n == 0 ? 0 : out[0].numel() / n;
  Tensor y = Tensor::zeros(x.dtype(), out[0].shape());
  if (in.size() > 2) y.copy_from(in[2].expand(y.shape()));
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    multiply_add(x.data<T>(), k, weight.data<T>(), n, y.mutable_data<T>(), n, m, n, k);
  });
  out[0].copy_from(y);
}

}  // namespace tenon
