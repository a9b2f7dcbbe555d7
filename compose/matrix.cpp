#include "compose/matrix.h"

#include <array>

#include "base/error.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"
#include "ir/ops/linalg.h"

namespace tenon {
namespace {

Ref with_axis(const Ref& x, std::size_t axis) {
  return reshape(x, with_axis(x.shape(), static_cast<std::int64_t>(axis)));
}
Ref without_axis(const Ref& x, std::size_t axis) {
  return reshape(x, without_axis(x.shape(), static_cast<std::int64_t>(axis)));
}

}  // namespace

Ref product(const Ref& a, const Ref& b) { return product(a, b, matmul); }

Ref product(const Ref& a, const Ref& b, Ref (*of_matrices)(const Ref&, const Ref&)) {
  if (a.rank() == 0 || b.rank() == 0) throw error("matmul of a rank-0 tensor");
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  Ref y = of_matrices(row ? with_axis(a, 0) : a, column ? with_axis(b, 1) : b);
  if (column) y = without_axis(y, y.rank() - 1);
  if (row) y = without_axis(y, column ? y.rank() - 1 : y.rank() - 2);
  return y;
}

Ref identity_like(const Ref& x) {
  const Dim n = x.shape().back();
  const Ref i = iota(n, x.insertion_point());
  Shape shape = Shape(x.shape().begin(), x.shape().end() - 2);
  shape.push_back(n);
  shape.push_back(n);
  return expand(cast(x.dtype(), equal(reshape(i, {n, Dim(1)}), i)), shape);
}

Ref inverse(const Ref& x) { return apply(Solve{}, {x, identity_like(x)}); }
Ref determinant(const Ref& x) { return apply_all(Determinant{}, std::array{x})[0]; }

Ref triangle(const Dim& rows, const Dim& columns, bool lower, const Dim& diagonal,
             const InsertionPoint& point) {
  const Ref i = reshape(iota(rows, point), {rows, Dim(1)});
  const Ref limit = diagonal == Dim(0) ? i : i + dim_value(diagonal, i);
  const Ref j = iota(columns, point);
  return lower ? j <= limit : j >= limit;
}

Ref kept_triangle(const Ref& x, bool lower, const Dim& diagonal) {
  if (x.rank() < 2) throw error("tril or triu of a tensor of rank {}", x.rank());
  const Dim& rows = x.shape()[x.rank() - 2];
  return where(triangle(rows, x.shape().back(), lower, diagonal, x.insertion_point()), x, x.literal(0));
}

}  // namespace tenon
