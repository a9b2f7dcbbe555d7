// Products of matrices.
#include <array>

#include "base/error.h"
#include "converter/onnx/fused_activation.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/linear.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

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

Operands einsum(Call& call) {
  std::vector<Datum> operands;
  for (const Ref& r : call.tensors()) operands.push_back(call.datum(r));
  return {call.aten("einsum",
                    {{"equation", call.text("equation", "")}, {"tensors", list_of(std::move(operands))}})};
}

Operands determinant(Call& call) { return {call.aten("linalg_det", {{"A", call.datum(call.tensor(0))}})}; }

Operands inverse(Call& call) {
  const Ref x = call.tensor(0);
  if (x.rank() < 2) throw error("a tensor of rank {}", x.rank());
  return {call.aten("linalg_inv", {{"A", call.datum(x)}})};
}

Operands distances(Call& call) {
  const std::string metric = call.text("metric", "sqeuclidean");
  const Ref a = call.tensor(0), b = call.tensor(1);
  check_rank("A", a.type(), 2);
  check_rank("B", b.type(), 2);
  if (metric == "euclidean")
    return {call.aten("cdist", {{"x1", call.datum(a)}, {"x2", call.datum(b)}, {"p", 2.0}})};
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

/// Vectors count as a row before, a column behind.
Operands product(Call& call) {
  const Ref a = call.tensor(0), b = call.tensor(1);
  if (a.rank() >= 2 && b.rank() >= 2) return {matmul(a, b)};
  return {call.aten("matmul", {{"self", call.datum(a)}, {"other", call.datum(b)}})};
}

}  // namespace

std::span<const Entry> matrix_entries() {
  static constexpr std::array entries = {
      Entry{"Det", determinant},
      Entry{"Einsum", einsum},
      Entry{"Gemm", gemm},
      Entry{"MatMul", product},
      Entry{"com.microsoft.CDist", distances},
      Entry{"com.microsoft.FusedGemm", fused_gemm},
      Entry{"com.microsoft.FusedMatMul", fused_matmul},
      Entry{"com.microsoft.FusedMatMulActivation", fused_matmul},
      Entry{"com.microsoft.Inverse", inverse},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
