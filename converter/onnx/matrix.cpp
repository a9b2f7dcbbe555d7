// Products of matrices.
#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/linear.h"
#include "ir/ops/shape.h"

namespace tenon::converter::onnx {

namespace {

Ref flipped(const Ref& x) { return transpose(x, -1, -2); }

/// alpha A B + beta C. A B transposed with a bias for each column is our linear.
Operands gemm(Call& call) {
  Ref a = call.tensor(0);
  const Ref b = call.tensor(1), c = call.optional_tensor(2);
  check_rank("A", a.type(), 2);
  check_rank("B", b.type(), 2);
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  if (call.integer("transA", 0) != 0) a = flipped(a);
  const bool by_rows = call.integer("transB", 0) != 0;
  const Dim columns = b.shape()[by_rows ? 0 : 1];
  const bool is_bias = c && c.rank() == 1 && c.shape()[0] == columns;
  if (by_rows && alpha == 1 && beta == 1 && is_bias) return {linear(a, b, c)};
  Ref y = by_rows ? linear(a, b) : matmul(a, b);
  if (alpha != 1) y = y * alpha;
  if (!c) return {y};
  return {y + (beta == 1 ? c : c * beta)};
}

Operands einsum(Call& call) {
  std::vector<Datum> operands;
  for (const Ref& r : call.tensors()) operands.push_back(call.datum(r));
  return {call.aten("einsum",
                    {{"equation", call.text("equation", "")}, {"tensors", list_of(std::move(operands))}})};
}

Operands determinant(Call& call) { return {call.aten("linalg_det", {{"A", call.datum(call.tensor(0))}})}; }

Operands fused_matmul(Call& call) {
  Ref a = call.tensor(0), b = call.tensor(1);
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0)
    throw unsupported("batch axes that are transposed");
  if (call.integer("transA", 0) != 0) a = flipped(a);
  if (call.integer("transB", 0) != 0) b = flipped(b);
  const double alpha = call.number("alpha", 1);
  const Ref y = matmul(a, b);
  return {alpha == 1 ? y : y * alpha};
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
      Entry{"com.microsoft.FusedMatMul", fused_matmul},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
