// The special functions on the host.
#include "base/scalar.h"
#include "ir/ops/reference.h"
#include "ir/ops/special.h"

namespace tenon {

void Special::reference(InSpan in, OutSpan out) const {
  const Index& shape = out[0].shape();
  const Tensor x = widened(in[0].expand(shape)), y = widened(in.back().expand(shape));
  Tensor result = Tensor::empty(DType::f64, shape);
  for (std::int64_t i = 0; i < result.numel(); ++i)
    result.mutable_data<double>()[i] =
        scalar_detail::meaning(function, x.data<double>()[i], y.data<double>()[i]);
  out[0].copy_from(result);
}

void Gcd::reference(InSpan in, OutSpan out) const {
  const Index& shape = out[0].shape();
  const Tensor a = in[0].expand(shape).contiguous(), b = in[1].expand(shape).contiguous();
  Tensor result = Tensor::empty(out[0].dtype(), shape);
  dispatch_real(result.dtype(), [&]<class T>(dtype_tag<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (std::int64_t i = 0; i < result.numel(); ++i)
        result.mutable_data<T>()[i] = scalar_detail::common_divisor(a.data<T>()[i], b.data<T>()[i]);
  });
  out[0].copy_from(result);
}

}  // namespace tenon
