// Eigenvalues of matrices that need not be symmetric: Hessenberg's form, Francis's double-shift QR steps to
// Schur's form, and back substitution (Golub and Van Loan, Matrix Computations, 7.4 to 7.6), in f64.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <vector>

#include "base/error.h"
#include "ir/ops/linalg.h"
#include "ir/ops/matrix.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

using Number = std::complex<double>;
using Numbers = std::vector<Number>;

constexpr double kEpsilon = 0x1p-52;
constexpr int kMostSteps = 300;  // for one eigenvalue

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The reflection 1 - factor v v^T that turns x into a multiple of the first unit vector; v[0] is 1.
struct Reflector {
  std::array<double, 3> v{};
  double factor = 0;
  std::int64_t count;

  explicit Reflector(std::initializer_list<double> x) : count(static_cast<std::int64_t>(x.size())) {
    std::copy(x.begin(), x.end(), v.begin());
    double largest = 0, squares = 0;
    for (const double number : v) largest = std::max(largest, std::fabs(number));
    if (largest == 0) return;
    for (double& number : v) {
      number /= largest;
      squares += number * number;
    }
    const double size = std::copysign(std::sqrt(squares), v[0]), first = v[0] + size;
    for (double& number : v) number /= first;
    v[0] = 1;
    factor = first / size;
  }
  /// m becomes H m in the rows from `row` and the columns [first, last).
  void on_rows(const Matrix& m, std::int64_t row, std::int64_t first, std::int64_t last) const {
    for (std::int64_t j = first; j < last; ++j) {
      double dot = 0;
      for (std::int64_t i = 0; i < count; ++i) dot += v[at(i)] * m(row + i, j);
      for (std::int64_t i = 0; i < count; ++i) m(row + i, j) -= factor * dot * v[at(i)];
    }
  }
  /// m becomes m H in the columns from `column` and the rows [0, last).
  void on_columns(const Matrix& m, std::int64_t column, std::int64_t last) const {
    for (std::int64_t i = 0; i < last; ++i) {
      double dot = 0;
      for (std::int64_t j = 0; j < count; ++j) dot += m(i, column + j) * v[at(j)];
      for (std::int64_t j = 0; j < count; ++j) m(i, column + j) -= factor * dot * v[at(j)];
    }
  }
};

/// x = q h q^T for the orthogonal q; h, in the memory of x, becomes quasi-triangular: its diagonal holds
/// numbers and 2 x 2 blocks with conjugate eigenvalues.
class Schur {
 public:
  Schur(const Matrix& x, const Matrix& identity) : h_(x), q_(identity), n_(x.rows) {
    for (std::int64_t i = 0; i < n_; ++i)
      for (std::int64_t j = 0; j < n_; ++j) norm_ = std::max(norm_, std::fabs(x(i, j)));
    reduce();
    for (std::int64_t last = n_ - 1; last >= 0;) last -= deflate(last);
  }

  bool starts_block(std::int64_t i) const { return i + 1 < n_ && h_(i + 1, i) != 0; }

  /// The eigenvalues of the 2 x 2 block at i.
  std::array<Number, 2> block_values(std::int64_t i) const {
    const double half = (h_(i, i) - h_(i + 1, i + 1)) / 2;
    const double square = half * half + h_(i, i + 1) * h_(i + 1, i);
    const double middle = h_(i + 1, i + 1) + half;
    if (square < 0) return {Number(middle, std::sqrt(-square)), Number(middle, -std::sqrt(-square))};
    const double root = half + std::copysign(std::sqrt(square), half);
    const double first = h_(i + 1, i + 1) + root;
    return {first, root == 0 ? first : h_(i + 1, i + 1) - h_(i, i + 1) * h_(i + 1, i) / root};
  }

  /// An eigenvector of x for the eigenvalue in row k, which is the second of its block if it is in one.
  Numbers vector_of(std::int64_t k, const Number& value) const {
    Numbers y(at(n_));
    y[at(k)] = 1;
    std::int64_t i = k - 1;
    if (i >= 0 && starts_block(i)) {
      y[at(i)] = (value - h_(k, k)) / h_(k, i);
      --i;
    }
    for (; i >= 0; --i) {
      if (i > 0 && starts_block(i - 1)) {
        solve_block(i - 1, k, value, y);
        --i;
      } else {
        y[at(i)] = -rest(i, i + 1, k, y) / away_from_zero(h_(i, i) - value);
      }
      if (const double size = std::abs(y[at(i)]); size > 0x1p300)
        for (Number& number : y) number /= size;
    }
    return multiplied(y, k);
  }

 private:
  /// Householder's reflections of whole columns; the entries below the subdiagonal become 0.
  void reduce() {
    for (std::int64_t k = 0; k + 2 < n_; ++k)
      for (std::int64_t i = n_ - 1; i > k + 1; --i) {
        if (h_(i, k) == 0) continue;
        apply(Reflector{h_(i - 1, k), h_(i, k)}, i - 1, k, n_);
        h_(i, k) = 0;
      }
  }

  void apply(const Reflector& r, std::int64_t place, std::int64_t first_column, std::int64_t last_row) {
    r.on_rows(h_, place, first_column, n_);
    r.on_columns(h_, place, last_row);
    r.on_columns(q_, place, n_);
  }

  bool is_small(std::int64_t i) const {
    const double around = std::fabs(h_(i - 1, i - 1)) + std::fabs(h_(i, i));
    return std::fabs(h_(i, i - 1)) <= kEpsilon * (around == 0 ? norm_ : around);
  }

  /// Turns the rows up to `last` until a number or a block splits off at their end; how many rows that are.
  std::int64_t deflate(std::int64_t last) {
    for (int step = 0; step < kMostSteps; ++step) {
      std::int64_t first = last;
      while (first > 0 && !is_small(first)) --first;
      if (first > 0) h_(first, first - 1) = 0;
      if (first == last) return 1;
      if (first + 1 == last) {
        split(first);
        return 2;
      }
      francis_step(first, last, step);
    }
    throw error("the eigenvalues of the matrix do not converge");
  }

  /// A block of two real eigenvalues becomes triangular.
  void split(std::int64_t i) {
    const auto values = block_values(i);
    if (values[0].imag() != 0) return;
    // (value - h(i+1, i+1), h(i+1, i)) is an eigenvector, which becomes the first unit vector.
    apply(Reflector{values[0].real() - h_(i + 1, i + 1), h_(i + 1, i)}, i, i, i + 2);
    h_(i + 1, i) = 0;
  }

  /// One implicit double-shift step on the rows [first, last].
  void francis_step(std::int64_t first, std::int64_t last, int step) {
    double sum = h_(last - 1, last - 1) + h_(last, last);
    double product = h_(last - 1, last - 1) * h_(last, last) - h_(last - 1, last) * h_(last, last - 1);
    if (step % 10 == 9) {  // other shifts, where those go round in circles
      const double size = std::fabs(h_(last, last - 1)) + std::fabs(h_(last - 1, last - 2));
      sum = 1.5 * size;
      product = size * size;
    }
    const std::int64_t k = first;
    double x = h_(k, k) * h_(k, k) + h_(k, k + 1) * h_(k + 1, k) - sum * h_(k, k) + product;
    double y = h_(k + 1, k) * (h_(k, k) + h_(k + 1, k + 1) - sum);
    double z = h_(k + 1, k) * h_(k + 2, k + 1);
    for (std::int64_t i = first; i + 1 < last; ++i) {
      apply(Reflector{x, y, z}, i, std::max(first, i - 1), std::min(last, i + 3) + 1);
      if (i > first) h_(i + 1, i - 1) = h_(i + 2, i - 1) = 0;
      x = h_(i + 1, i);
      y = h_(i + 2, i);
      z = i + 3 <= last ? h_(i + 3, i) : 0;
    }
    apply(Reflector{x, y}, last - 1, last - 2, last + 1);
    h_(last, last - 2) = 0;
  }

  Number away_from_zero(const Number& z) const {
    const double least = std::max(kEpsilon * norm_, 0x1p-1000);
    return std::abs(z) < least ? Number(least) : z;
  }

  /// Of row i times y, what the columns [first, last] give.
  Number rest(std::int64_t i, std::int64_t first, std::int64_t last, const Numbers& y) const {
    Number sum = 0;
    for (std::int64_t j = first; j <= last; ++j) sum += h_(i, j) * y[at(j)];
    return sum;
  }

  void solve_block(std::int64_t i, std::int64_t k, const Number& value, Numbers& y) const {
    const Number a = h_(i, i) - value, b = h_(i, i + 1), c = h_(i + 1, i), d = h_(i + 1, i + 1) - value;
    const Number e = -rest(i, i + 2, k, y), f = -rest(i + 1, i + 2, k, y);
    const Number determinant = away_from_zero(a * d - b * c);
    y[at(i)] = (e * d - b * f) / determinant;
    y[at(i + 1)] = (a * f - c * e) / determinant;
  }

  /// q y, of length 1, with a real number in its largest place, of several that rounding tells apart the
  /// first.
  Numbers multiplied(const Numbers& y, std::int64_t last) const {
    Numbers v(at(n_));
    double squares = 0, most = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      for (std::int64_t j = 0; j <= last; ++j) v[at(i)] += q_(i, j) * y[at(j)];
      squares += std::norm(v[at(i)]);
      most = std::max(most, std::norm(v[at(i)]));
    }
    const double length = std::sqrt(squares);
    Number& largest =
        *std::find_if(v.begin(), v.end(), [&](const Number& z) { return std::norm(z) >= most * (1 - 1e-6); });
    const bool turns = largest.imag() != 0;
    const Number turn = turns ? std::conj(largest) / std::abs(largest) : Number(1);
    for (Number& number : v) number = number * turn / length;
    if (turns) largest.imag(0);
    return v;
  }

  const Matrix &h_, &q_;
  std::int64_t n_;
  double norm_ = 0;
};

void write(const Schur& schur, std::int64_t n, Number* values, Number* vectors) {
  const auto put = [&](std::int64_t k, const Numbers& v) {
    for (std::int64_t i = 0; i < n; ++i) vectors[i * n + k] = v[at(i)];
  };
  for (std::int64_t k = 0; k < n; ++k) {
    if (!schur.starts_block(k)) {
      put(k, schur.vector_of(k, values[k]));
      continue;
    }
    Numbers v = schur.vector_of(k + 1, values[k]);
    put(k, v);
    for (Number& number : v) number = std::conj(number);
    put(++k, v);
  }
}

}  // namespace

void Eig::reference(InSpan in, OutSpan out) const {
  Tensor x = widened_copy(in[0]);
  Tensor values = Tensor::empty(DType::c128, out[0].shape());
  Tensor vectors = Tensor::empty(DType::c128, out[1].shape());
  const std::int64_t n = from_end(x, 1);
  for (std::int64_t k = 0; k < matrices(x); ++k) {
    const Matrix m = matrix(x, k);
    double largest = 0;
    for (std::int64_t i = 0; i < n * n; ++i) {
      if (!std::isfinite(m.data[i])) throw error("the matrix holds an infinity or NaN");
      largest = std::max(largest, std::fabs(m.data[i]));
    }
    const int exponent = largest > 0 ? std::ilogb(largest) : 0;  // its squares are to be numbers
    for (std::int64_t i = 0; i < n * n; ++i) m.data[i] = std::ldexp(m.data[i], -exponent);
    std::vector<double> numbers(at(n * n));
    const Matrix q{numbers.data(), n, n};
    for (std::int64_t i = 0; i < n; ++i) q(i, i) = 1;
    const Schur schur(m, q);
    Number* of_this = values.mutable_data<Number>() + k * n;
    for (std::int64_t i = 0; i < n; ++i) {
      of_this[i] = m(i, i);
      if (!schur.starts_block(i)) continue;
      const auto pair = schur.block_values(i);
      of_this[i] = pair[0];
      of_this[++i] = pair[1];
    }
    write(schur, n, of_this, vectors.mutable_data<Number>() + k * n * n);
    for (std::int64_t i = 0; i < n; ++i)
      of_this[i] = {std::ldexp(of_this[i].real(), exponent), std::ldexp(of_this[i].imag(), exponent)};
  }
  out[0].copy_from(values);
  out[1].copy_from(vectors);
}

}  // namespace tenon
