#include "kernels/cpu/spectra.h"

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <limits>

#include "base/orientation.h"

namespace tenon::cpu {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;
using Given = Eigen::Map<const Matrix>;
using Result = Eigen::Map<Matrix>;
using Line = Eigen::Map<Vector>;

/// Column k of q as a unit vector orthogonal to the columns before it: what they leave of the unit vector of
/// which they leave the most, of several that rounding tells apart the first.
void complete_column(Matrix& q, long k) {
  constexpr double level = 1e-6;
  const auto before = q.leftCols(k);
  const Vector left = Vector::Ones(q.rows()) - before.rowwise().squaredNorm();
  const double most = left.maxCoeff();
  long best = 0;
  while (left(best) < most - level) ++best;
  Vector column = Vector::Unit(q.rows(), best);
  for (int pass = 0; pass < 2; ++pass) {
    column -= before * (before.transpose() * column).eval();
    column.normalize();
  }
  q.col(k) = column;
}

/// x[n, k], n >= k, as Q diag(s) P^T: q[n, count >= k] and p[k, k] with orthonormal columns.
void decompose_tall(const Matrix& x, Line s, Matrix& q, Matrix& p) {
  const Eigen::BDCSVD<Matrix> svd(x, Eigen::ComputeThinU | Eigen::ComputeThinV);
  s = svd.singularValues();
  p = svd.matrixV();
  q.leftCols(x.cols()) = svd.matrixU();
  const double least = s(0) * (static_cast<double>(x.rows()) * std::numeric_limits<double>::epsilon());
  const long rank = (s.array() > least).count();
  for (long i = 0; i < rank; ++i) {
    const double sign = orientation(x.cols(), [&](long j) { return p(j, i); });
    p.col(i) *= sign;
    q.col(i) *= sign;
  }
  for (long i = rank; i < p.cols(); ++i) complete_column(p, i);
  for (long i = rank; i < q.cols(); ++i) complete_column(q, i);
}

}  // namespace

void find_eigh(const double* x, long n, double* values, double* vectors) {
  const Given given(x, n, n);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(
      given, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  Line(values, n) = solver.eigenvalues();
  if (!vectors) return;
  const auto& columns = solver.eigenvectors();
  for (long i = 0; i < n; ++i)
    Result(vectors, n, n).col(i) = columns.col(i) * orientation(n, [&](long j) { return columns(j, i); });
}

void find_singular_values(const double* x, long rows, long columns, double* s) {
  Line(s, std::min(rows, columns)) = Eigen::BDCSVD<Matrix>(Given(x, rows, columns)).singularValues();
}

void find_singular_values_of_floats(const double* x, long rows, long columns, double* s) {
  const Given given(x, rows, columns);
  const long k = std::min(rows, columns);
  Eigen::MatrixXd squares(k, k);
  if (rows < columns)
    squares = given * given.transpose();
  else
    squares = given.transpose() * given;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(squares, Eigen::EigenvaluesOnly);
  for (long i = 0; i < k; ++i) s[i] = std::sqrt(std::fmax(0, solver.eigenvalues()(k - 1 - i)));
}

void find_svd(const double* x, long rows, long columns, bool complete, double* u, double* s, double* v) {
  const bool is_tall = rows > columns;
  const long k = std::min(rows, columns), n = std::max(rows, columns);
  Matrix q(n, complete ? n : k), p(k, k);
  const Given given(x, rows, columns);
  decompose_tall(is_tall ? Matrix(given) : Matrix(given.transpose()), Line(s, k), q, p);
  const Matrix &left = is_tall ? q : p, &right = is_tall ? p : q;
  Result(u, left.rows(), left.cols()) = left;
  Result(v, right.cols(), right.rows()) = right.transpose();
}

}  // namespace tenon::cpu
