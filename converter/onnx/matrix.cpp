// Products of matrices.
#include "compose/matrix.h"

#include <array>

#include "base/error.h"
#include "compose/einsum.h"
#include "compose/p_norm.h"
#include "converter/onnx/fused_activation.h"
#include "converter/onnx/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

Ref flipped(const Ref& x) { return transpose(x, -1, -2); }

/// alpha A B + beta C. A B transposed with a bias for each column is our linear.
Ref gemm_of(const Call& call) {
  Ref a = call.tensor(0);
  const Ref b = call.tensor(1), c = call.optional_tensor(2);
  check_rank("A", a.type(), 2);
  check_rank("B", b.type(), 2);
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  if (call.integer("transA", 0) != 0) a = flipped(a);
  const bool by_rows = call.integer("transB", 0) != 0;
  const Dim columns = b.shape()[by_rows ? 0 : 1];
  const bool is_bias = c && c.rank() == 1 && c.shape()[0] == columns;
  if (by_rows && alpha == 1 && beta == 1 && is_bias) return linear(a, b, c);
  Ref y = by_rows ? linear(a, b) : matmul(a, b);
  if (alpha != 1) y = y * alpha;
  if (!c) return y;
  return y + (beta == 1 ? c : c * beta);
}

Operands gemm(Call& call) { return {gemm_of(call)}; }
Operands fused_gemm(Call& call) { return {activated(call, gemm_of(call))}; }

Operands einsum_of(Call& call) {
  const std::vector<Ref> operands = call.tensors();
  return {einsum(call.text("equation", ""), operands)};
}

Operands determinant_of(Call& call) { return {determinant(call.tensor(0))}; }

Operands inverse_of(Call& call) {
  const Ref x = call.tensor(0);
  if (x.rank() < 2) throw error("a tensor of rank {}", x.rank());
  return {inverse(x)};
}

Operands distances_of(Call& call) {
  const std::string metric = call.text("metric", "sqeuclidean");
  const Ref a = call.tensor(0), b = call.tensor(1);
  check_rank("A", a.type(), 2);
  check_rank("B", b.type(), 2);
  if (metric == "euclidean") return {distances(a, b, 2)};
  if (metric != "sqeuclidean") throw unsupported("its metric {}", metric);
  const Ref difference = reshape(a, {a.shape()[0], Dim(1), a.shape()[1]}) - b;
  return {sum(difference * difference, {2})};
}

/// The first axis put before the last.
Ref batch_first(const Ref& x) {
  if (x.rank() < 3) return x;
  Axes axes;
  for (std::size_t i = 1; i + 1 < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  axes.push_back(0);
  axes.push_back(static_cast<std::int64_t>(x.rank()) - 1);
  return permute(x, axes);
}

Operands fused_matmul(Call& call) {
  Ref a = call.tensor(0), b = call.tensor(1);
  if (call.integer("transBatchA", 0) != 0) a = batch_first(a);
  if (call.integer("transBatchB", 0) != 0) b = batch_first(b);
  if (call.integer("transA", 0) != 0) a = flipped(a);
  if (call.integer("transB", 0) != 0) b = flipped(b);
  const double alpha = call.number("alpha", 1);
  const Ref y = matmul(a, b);
  return {activated(call, alpha == 1 ? y : y * alpha)};
}

Operands product_of(Call& call) { return {product(call.tensor(0), call.tensor(1))}; }

}  // namespace

std::span<const OnnxEntry> matrix_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"Det", determinant_of},
      OnnxEntry{"Einsum", einsum_of},
      OnnxEntry{"Gemm", gemm},
      OnnxEntry{"MatMul", product_of},
      OnnxEntry{"com.microsoft.CDist", distances_of},
      OnnxEntry{"com.microsoft.FusedGemm", fused_gemm},
      OnnxEntry{"com.microsoft.FusedMatMul", fused_matmul},
      OnnxEntry{"com.microsoft.FusedMatMulActivation", fused_matmul},
      OnnxEntry{"com.microsoft.Inverse", inverse_of},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
