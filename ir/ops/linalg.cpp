// Type rules of the factorisations.
#include "ir/ops/linalg.h"

#include "ir/ops/families.h"

namespace tenon {
namespace {

void check_matrices(const Type& x) {
  check_float("the operand", x);
  if (x.rank() < 2) throw error("{} is no matrix", x.str());
}

void check_square(const Type& x) {
  check_matrices(x);
  check_same_size("the number of rows", x.shape[x.rank() - 2], "the number of columns", x.shape.back());
}

Type solution(const Type& a, const Type& b) {
  check_square(a);
  check_matrices(b);
  check_same_dtype("the matrix", a, "the right side", b);
  check_rank("the right side", b, a.rank());
  for (std::size_t i = 0; i + 1 < a.rank(); ++i)
    check_same_size("a size of the matrix", a.shape[i], "that of the right side", b.shape[i]);
  return b;
}

}  // namespace

Type Cholesky::infer(const Type& x) const {
  check_square(x);
  return x;
}
Type Solve::infer(const Type& a, const Type& b) const { return solution(a, b); }
Type TriangularSolve::infer(const Type& a, const Type& b) const { return solution(a, b); }

std::vector<Type> Determinant::infer(TypeSpan in) const {
  check_square(in[0]);
  const Type number{in[0].dtype, Shape(in[0].shape.begin(), in[0].shape.end() - 2)};
  return {number, number, number};
}

std::vector<Type> Qr::infer(TypeSpan in) const {
  check_matrices(in[0]);
  const Dim rows = in[0].shape[in[0].rank() - 2], columns = in[0].shape.back();
  const Dim inner = complete ? rows : min(rows, columns);
  Type q = in[0], r = in[0];
  q.shape.back() = inner;
  r.shape[r.rank() - 2] = inner;
  return {q, r};
}

std::vector<const OpInfo*> linalg_ops() { return family(LinearAlgebra{}); }

}  // namespace tenon
