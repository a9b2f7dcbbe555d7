// Matrix products.
#pragma once
#include "ir/ops/spans.h"

namespace tenon {

/// a[..., M, K] times b[..., K, N]; the leading axes broadcast. Ranks are at least 2.
struct MatMul : WithReference<2> {
  static constexpr std::string_view name = "matmul";
  static constexpr bool anchor = true;
  Type infer(const Type& a, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {onnx("MatMul(a, b)")};
};

/// x[..., K] times weight[N, K] transposed, plus bias[N].
struct Linear : WithReference<2, 3> {
  static constexpr std::string_view name = "linear";
  static constexpr bool anchor = true;
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("linear(input, weight, bias)")};
};

using LinearOps = OpList<MatMul, Linear>;

}  // namespace tenon
