// Factorisations of matrices and systems of linear equations. Leading axes are a batch.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// The lower triangular L with x = L L^T, of which the lower triangle of x is read. An Error when x is not
/// positive definite.
struct Cholesky : Kernel<1> {
  static constexpr std::string_view name = "cholesky";
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// X with A X = B, for square A[..., n, n] and B[..., n, k]. An Error when A is singular.
struct Solve : Kernel<2> {
  static constexpr std::string_view name = "solve";
  Type infer(const Type& a, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
};

/// X with A X = B, where only the upper or lower triangle of A is read; with `unit` its diagonal counts as 1.
struct TriangularSolve : Kernel<2> {
  static constexpr std::string_view name = "triangular_solve";
  bool upper = false, unit = false;
  static constexpr auto fields =
      std::tuple{field("upper", &TriangularSolve::upper), field("unit", &TriangularSolve::unit)};
  Type infer(const Type& a, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The determinant, its sign, and the logarithm of its size.
struct Determinant : Kernel<1> {
  static constexpr std::string_view name = "determinant";
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
};

/// Q with orthonormal columns and upper triangular R with x = Q R, by Householder's reflections with LAPACK's
/// signs. Q is [m, min(m, n)], or with `complete` [m, m].
struct Qr : Kernel<1> {
  static constexpr std::string_view name = "qr";
  bool complete = false;
  static constexpr auto fields = std::tuple{field("complete", &Qr::complete)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
};

using LinearAlgebra = OpList<Cholesky, Solve, TriangularSolve, Determinant, Qr>;

}  // namespace tenon
