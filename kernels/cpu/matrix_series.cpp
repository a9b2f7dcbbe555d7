// The exponential of matrices: the power series of x / 2^k, squared k times. Numbers that are 1 exactly stay
// so, however often they are squared. Built once per ISA.
#include "kernels/cpu/factor_tiles.h"
#include "kernels/cpu/matrix_exp.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr double largest_norm = 0.8;
/// Those left out are less than rounding.
template <class T>
constexpr int terms = sizeof(T) == sizeof(double) ? 16 : 12;

constexpr double inverse_factorial(int k) { return k == 0 ? 1 : inverse_factorial(k - 1) / k; }

struct Series {
  long n;
  double *x, *x2, *x3, *x4, *sum, *product, *work;

  /// c = a b.
  void multiply(const double* a, const double* b, double* c) const {
    TypedProduct<double> p;
    p.M = p.N = p.K = n;
    p.a = a, p.a_row = n;
    p.b = b, p.b_row = n;
    p.c = c, p.c_row = n;
    for (long j = 0; j < n; j += typed_columns)
      multiply_columns({&p, j, j + typed_columns < n ? j + typed_columns : n, work, false});
  }

  /// The sum of four terms, and what else there is of them.
  void add_terms(int first, const double* more) const {
    const double c0 = inverse_factorials[first], c1 = inverse_factorials[first + 1];
    const double c2 = inverse_factorials[first + 2], c3 = inverse_factorials[first + 3];
    for (long i = 0; i < n * n; i++) sum[i] = more[i] + (c1 * x[i] + (c2 * x2[i] + c3 * x3[i]));
    for (long i = 0; i < n; i++) sum[i * n + i] += c0;
  }

  void run(int count, int squarings) const {
    multiply(x, x, x2);
    multiply(x2, x, x3);
    multiply(x2, x2, x4);
    for (long i = 0; i < n * n; i++) product[i] = inverse_factorials[count] * x4[i];
    for (int first = count - 4; first >= 0; first -= 4) {
      add_terms(first, product);
      if (first > 0) multiply(x4, sum, product);
    }
    for (int k = 0; k < squarings; k++) {
      multiply(sum, sum, product);
      copy(product, n * n, sum);
    }
  }

  static constexpr double inverse_factorials[17] = {
      inverse_factorial(0),  inverse_factorial(1),  inverse_factorial(2),  inverse_factorial(3),
      inverse_factorial(4),  inverse_factorial(5),  inverse_factorial(6),  inverse_factorial(7),
      inverse_factorial(8),  inverse_factorial(9),  inverse_factorial(10), inverse_factorial(11),
      inverse_factorial(12), inverse_factorial(13), inverse_factorial(14), inverse_factorial(15),
      inverse_factorial(16)};
};

/// The largest sum of a row; an infinity or NaN where it is not finite.
template <class T>
double norm_of(const T* x, long n) {
  double norm = 0;
  for (long i = 0; i < n; i++) {
    double sum = 0;
    for (long j = 0; j < n; j++) sum += __builtin_fabs(static_cast<double>(x[i * n + j]));
    if (!(sum <= norm)) norm = sum;
    if (norm != norm) return norm;
  }
  return norm;
}

template <class T>
void matrix_exp(const MatrixExpTask<T>& task) {
  const long n = task.n;
  Room<double> room{task.room};
  Series s{n, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, room.take(typed_work_size)};
  for (double** part : {&s.x, &s.x2, &s.x3, &s.x4, &s.sum, &s.product}) *part = room.take(n * n);
  const double norm = norm_of(task.x, n);
  int squarings = 0;
  double scale = 1;
  if (norm <= __DBL_MAX__)
    for (; norm * scale > largest_norm; squarings++) scale /= 2;
  for (long i = 0; i < n * n; i++) s.x[i] = static_cast<double>(task.x[i]) * scale;
  s.run(terms<T>, squarings);
  for (long i = 0; i < n * n; i++) task.y[i] = static_cast<T>(s.sum[i]);
}

}  // namespace

void matrix_exp_f32(const MatrixExpTask<float>& task) { matrix_exp(task); }
void matrix_exp_f64(const MatrixExpTask<double>& task) { matrix_exp(task); }

}  // namespace tenon::cpu::TENON_ISA
