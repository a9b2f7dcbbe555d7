// Factorisations of matrices and systems of linear equations. Leading axes are a batch.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// The lower triangular L with x = L L^T, of which the lower triangle of x is read. An Error when x is not
/// positive definite.
struct Cholesky : WithReference<1> {
  static constexpr std::string_view name = "cholesky";
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// X with A X = B, for square A[..., n, n] and B[..., n, k]. An Error when A is singular.
struct Solve : WithReference<2> {
  static constexpr std::string_view name = "solve";
  Type infer(const Type& a, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// X with A X = B, where only the upper or lower triangle of A is read; with `unit` its diagonal counts as 1.
struct TriangularSolve : WithReference<2> {
  static constexpr std::string_view name = "triangular_solve";
  bool upper = false, unit = false;
  static constexpr auto fields =
      std::tuple{field("upper", &TriangularSolve::upper), field("unit", &TriangularSolve::unit)};
  Type infer(const Type& a, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// The determinant, its sign, and the logarithm of its size.
struct Determinant : WithReference<1> {
  static constexpr std::string_view name = "determinant";
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// Q with orthonormal columns and upper triangular R with x = Q R, by Householder's reflections with LAPACK's
/// signs. Q is [m, min(m, n)], or with `complete` [m, m].
struct Qr : WithReference<1> {
  static constexpr std::string_view name = "qr";
  bool complete = false;
  static constexpr auto fields = std::tuple{field("complete", &Qr::complete)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// Gaussian elimination with partial pivoting of x[..., m, n]: the unit lower L below the diagonal and the
/// upper U in one matrix, and for each column the row (counted from 1, i32) that was exchanged with its
/// diagonal's.
struct Lu : WithReference<1> {
  static constexpr std::string_view name = "lu";
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// Which row of x stands in each of the `rows` rows (i64) after the exchanges that Lu lists.
struct PivotRows : WithReference<1> {
  static constexpr std::string_view name = "pivot_rows";
  Dim rows = 0;
  static constexpr auto fields = std::tuple{field("rows", &PivotRows::rows)};
  Type infer(const Type& pivots) const;
  void reference(InSpan in, OutSpan out) const;
};

/// Householder's reflections with LAPACK's signs: R in the upper triangle, the reflections' vectors (whose
/// first element is 1) below it, and their factors.
struct Reflections : WithReference<1> {
  static constexpr std::string_view name = "reflections";
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// The product of the reflections whose vectors stand in the columns of x[..., m, n] and whose factors are
/// given: its first n columns, or with `complete` all m.
struct ReflectionProduct : WithReference<2> {
  static constexpr std::string_view name = "reflection_product";
  bool complete = false;
  static constexpr auto fields = std::tuple{field("complete", &ReflectionProduct::complete)};
  Type infer(const Type& x, const Type& factors) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// x = U diag(S) V^T: U and V^T with orthonormal columns and rows, S descending. U is [m, k] and V^T [k, n]
/// for k = min(m, n); with `complete` both are square. The vectors on the shorter side have the signs of
/// base/orientation.h.
struct Svd : WithReference<1> {
  static constexpr std::string_view name = "svd";
  bool complete = false;
  static constexpr auto fields = std::tuple{field("complete", &Svd::complete)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// Eigenvalues, ascending, and orthonormal eigenvectors (columns, with the signs of base/orientation.h) of a
/// symmetric matrix, of which the lower triangle is read.
struct Eigh : WithReference<1> {
  static constexpr std::string_view name = "eigh";
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// Eigenvalues and eigenvectors (columns, of length 1) of a square matrix that need not be symmetric, as
/// complex numbers. Those of a conjugate pair follow each other, the one with the positive imaginary part
/// first.
struct Eig : WithReference<1> {
  static constexpr std::string_view name = "eig";
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// x = L D L^T of a symmetric matrix, of which the lower triangle is read, by Bunch and Kaufman's pivoting:
/// L, whose diagonal counts as 1, and the 1 x 1 and 2 x 2 blocks of D in one lower triangle, and LAPACK's
/// pivots (i32): the row, counted from 1, that was exchanged with that of a 1 x 1 block; for both rows of a 2
/// x 2 block, its negative, for the second. An Error when x is singular.
struct LdlFactor : WithReference<1> {
  static constexpr std::string_view name = "ldl_factor";
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// X with A X = B, from the factor of A and its pivots.
struct LdlSolve : WithReference<3> {
  static constexpr std::string_view name = "ldl_solve";
  Type infer(const Type& factor, const Type& pivots, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

/// The exponential of square matrices; of 16-bit floats what PyTorch gives (ir/ops/matrix_exp_halves.h).
struct MatrixExp : WithReference<1> {
  static constexpr std::string_view name = "matrix_exp";
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
};

using LinearAlgebra = OpList<Cholesky, Solve, TriangularSolve, Determinant, Qr, Lu, PivotRows, Reflections,
                             ReflectionProduct, Svd, Eigh, Eig, LdlFactor, LdlSolve, MatrixExp>;

}  // namespace tenon
