// Type rules of the factorisations.
#include "ir/ops/linalg.h"

#include "ir/read_definition.h"

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

Dim rows_of(const Type& x) { return x.shape[x.rank() - 2]; }
Dim shorter_side(const Type& x) { return min(rows_of(x), x.shape.back()); }

/// `factor` times the numbers of x times its shorter side: how much arithmetic a factorisation is, about.
double cubic_flops(const Type& x, double factor) {
  return factor * static_cast<double>(numel(x.shape).value()) * static_cast<double>(shorter_side(x).value());
}

/// Of a triangular system.
double substitution_flops(const Type& a, const Type& b) {
  return elements(b) * static_cast<double>(a.shape.back().value());
}

/// One list of numbers for each matrix.
Type per_matrix(const Type& x, const Dim& size, DType dtype) {
  Type t{dtype, Shape(x.shape.begin(), x.shape.end() - 1)};
  t.shape.back() = size;
  return t;
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
  const Dim inner = complete ? rows_of(in[0]) : shorter_side(in[0]);
  Type q = in[0], r = in[0];
  q.shape.back() = inner;
  r.shape[r.rank() - 2] = inner;
  return {q, r};
}

std::vector<Type> Lu::infer(TypeSpan in) const {
  check_matrices(in[0]);
  return {in[0], per_matrix(in[0], shorter_side(in[0]), DType::i32)};
}

Type PivotRows::infer(const Type& pivots) const {
  check_integer("the pivots", pivots);
  if (pivots.rank() < 1) throw error("{} holds no list of pivots", pivots.str());
  Type t{DType::i64, pivots.shape};
  t.shape.back() = rows;
  return t;
}

std::vector<Type> Reflections::infer(TypeSpan in) const {
  check_matrices(in[0]);
  return {in[0], per_matrix(in[0], shorter_side(in[0]), in[0].dtype)};
}

Type ReflectionProduct::infer(const Type& x, const Type& factors) const {
  check_matrices(x);
  check_same_dtype("the vectors", x, "the factors", factors);
  check_rank("the list of factors", factors, x.rank() - 1);
  for (std::size_t i = 0; i + 2 < x.rank(); ++i)
    check_same_size("a size of the matrix", x.shape[i], "that of the factors", factors.shape[i]);
  Type q = x;
  if (complete) q.shape.back() = rows_of(x);
  return q;
}

std::vector<Type> Svd::infer(TypeSpan in) const {
  check_matrices(in[0]);
  const Dim inner = shorter_side(in[0]);
  Type u = in[0], v = in[0];
  u.shape.back() = complete ? rows_of(in[0]) : inner;
  v.shape[v.rank() - 2] = complete ? in[0].shape.back() : inner;
  return {u, per_matrix(in[0], inner, in[0].dtype), v};
}

std::vector<Type> Eigh::infer(TypeSpan in) const {
  check_square(in[0]);
  return {per_matrix(in[0], in[0].shape.back(), in[0].dtype), in[0]};
}

std::vector<Type> Eig::infer(TypeSpan in) const {
  check_square(in[0]);
  const DType dtype = in[0].dtype == DType::f64 ? DType::c128 : DType::c64;
  return {per_matrix(in[0], in[0].shape.back(), dtype), {dtype, in[0].shape}};
}

std::vector<Type> LdlFactor::infer(TypeSpan in) const {
  check_square(in[0]);
  return {in[0], per_matrix(in[0], in[0].shape.back(), DType::i32)};
}

Type LdlSolve::infer(const Type& factor, const Type& pivots, const Type& b) const {
  const Type x = solution(factor, b);
  check_integer("the pivots", pivots);
  check_rank("the list of pivots", pivots, factor.rank() - 1);
  for (std::size_t i = 0; i + 1 < factor.rank(); ++i)
    check_same_size("a size of the matrix", factor.shape[i], "that of the pivots", pivots.shape[i]);
  return x;
}

Type MatrixExp::infer(const Type& x) const {
  check_square(x);
  return x;
}

// Golub and Van Loan, Matrix Computations, 4.2, 3.1, 3.2, 5.2, 4.4, 8.3, 8.6 and 7.5; an exponential is some
// eight products.
double Cholesky::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 1.0 / 3); }
double Determinant::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 2.0 / 3); }
double Lu::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 2.0 / 3); }
double LdlFactor::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 1.0 / 3); }
double TriangularSolve::flops(TypeSpan in, TypeSpan) const { return substitution_flops(in[0], in[1]); }
double LdlSolve::flops(TypeSpan in, TypeSpan) const { return 2 * substitution_flops(in[0], in[2]); }
double Solve::flops(TypeSpan in, TypeSpan) const {
  return cubic_flops(in[0], 2.0 / 3) + 2 * substitution_flops(in[0], in[1]);
}
double Reflections::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 4.0 / 3); }
double ReflectionProduct::flops(TypeSpan in, TypeSpan out) const {
  return 4 * elements(out[0]) * static_cast<double>(in[1].shape.back().value());
}
double Qr::flops(TypeSpan in, TypeSpan out) const {
  return cubic_flops(in[0], 4.0 / 3) +
         4 * elements(out[0]) * static_cast<double>(shorter_side(in[0]).value());
}
double Eigh::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 9); }
double Svd::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 21); }
double Eig::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 25); }
double MatrixExp::flops(TypeSpan in, TypeSpan) const { return cubic_flops(in[0], 16); }

std::vector<const OpInfo*> linalg_ops() { return family(LinearAlgebra{}); }

}  // namespace tenon
