// Eigenvalues of matrices that need not be symmetric, as the reference finds them
// (ir/ops/eigen_reference.cpp): Hessenberg's form, Francis's double-shift QR steps to Schur's form, and back
// substitution. All threads of the block decide alike; each reflection is applied by all of them.
#pragma once
#include "kernels/gpu/fft.gpu.h"
#include "kernels/gpu/matrix.gpu.h"

namespace tenon::gpu {

using Complex = ComplexNumber<double>;

GPU_INLINE Complex operator+(Complex a, Complex b) { return {a.real + b.real, a.imag + b.imag}; }
GPU_INLINE Complex operator-(Complex a, Complex b) { return {a.real - b.real, a.imag - b.imag}; }
GPU_INLINE Complex operator*(double a, Complex b) { return {a * b.real, a * b.imag}; }
GPU_INLINE double size_of(Complex z) { return hypot(z.real, z.imag); }
GPU_INLINE Complex operator/(Complex a, Complex b) {
  const double scale = 1 / (fabs(b.real) > fabs(b.imag) ? fabs(b.real) : fabs(b.imag));
  const Complex c = scale * b;
  const double square = c.real * c.real + c.imag * c.imag;
  const Complex product = a * Complex{c.real, -c.imag};
  return {product.real / square * scale, product.imag / square * scale};
}

constexpr double double_epsilon = 2.220446049250313e-16;
constexpr int most_qr_steps = 300;  // for one eigenvalue

/// The reflection 1 - factor v v^T that turns x into a multiple of the first unit vector; v[0] is 1.
struct Reflector {
  double v[3], factor;
  int count;

  GPU_INLINE Reflector(double x, double y, double z, int size) : v{x, y, z}, factor(0), count(size) {
    double largest = 0, squares = 0;
    for (int i = 0; i < 3; ++i) largest = fabs(v[i]) > largest ? fabs(v[i]) : largest;
    if (largest == 0) return;
    for (int i = 0; i < 3; ++i) {
      v[i] /= largest;
      squares += v[i] * v[i];
    }
    const double length = copysign(sqrt(squares), v[0]), first = v[0] + length;
    for (int i = 0; i < 3; ++i) v[i] /= first;
    v[0] = 1;
    factor = first / length;
  }
  /// In the rows from `row` and the columns [first, last).
  GPU_INLINE void on_rows(const Work& m, int row, int first, int last) const {
    for (int j = first + thread(); j < last; j += threads()) {
      double dot = 0;
#pragma unroll
      for (int i = 0; i < 3; ++i)
        if (i < count) dot += v[i] * m(row + i, j);
#pragma unroll
      for (int i = 0; i < 3; ++i)
        if (i < count) m(row + i, j) -= factor * dot * v[i];
    }
  }
  /// In the columns from `column` and the rows [0, last).
  GPU_INLINE void on_columns(const Work& m, int column, int last) const {
    on_rows(m.transposed(), column, 0, last);
  }
};

/// x = q h q^T for the orthogonal q; h becomes quasi-triangular.
struct Schur {
  const Work &h, &q;
  int n;
  double norm;

  GPU_INLINE bool starts_block(int i) const { return i + 1 < n && h(i + 1, i) != 0; }

  /// The eigenvalues of the 2 x 2 block at i.
  GPU_INLINE void block_values(int i, Complex& one, Complex& other) const {
    const double half = (h(i, i) - h(i + 1, i + 1)) / 2;
    const double square = half * half + h(i, i + 1) * h(i + 1, i), middle = h(i + 1, i + 1) + half;
    if (square < 0) {
      one = {middle, sqrt(-square)};
      other = {middle, -sqrt(-square)};
      return;
    }
    const double root = half + copysign(sqrt(square), half), first = h(i + 1, i + 1) + root;
    one = {first, 0};
    other = {root == 0 ? first : h(i + 1, i + 1) - h(i, i + 1) * h(i + 1, i) / root, 0};
  }
  GPU_INLINE Complex value_at(int i) const {
    Complex one{h(i, i), 0}, other = one;
    if (i > 0 && starts_block(i - 1)) {
      block_values(i - 1, one, other);
      return other;
    }
    if (starts_block(i)) block_values(i, one, other);
    return one;
  }

  GPU_INLINE void apply(const Reflector& r, int place, int first_column, int last_row) const {
    __syncthreads();
    r.on_rows(h, place, first_column, n);
    __syncthreads();
    r.on_columns(h, place, last_row);
    r.on_columns(q, place, n);
    __syncthreads();
  }
  GPU_INLINE void clear(int i, int j) const {
    if (thread() == 0) h(i, j) = 0;
  }

  /// The entries below the subdiagonal become 0.
  GPU_INLINE void reduce() const {
    for (int k = 0; k + 2 < n; ++k)
      for (int i = n - 1; i > k + 1; --i) {
        const double below = h(i, k);
        if (below == 0) continue;
        apply(Reflector(h(i - 1, k), below, 0, 2), i - 1, k, n);
        clear(i, k);
      }
    __syncthreads();
  }

  GPU_INLINE bool is_small(int i) const {
    const double around = fabs(h(i - 1, i - 1)) + fabs(h(i, i));
    return fabs(h(i, i - 1)) <= double_epsilon * (around == 0 ? norm : around);
  }

  /// Turns the rows up to `last` until a number or a block splits off at their end; how many rows that are,
  /// or 0 where they do not converge.
  GPU_INLINE int deflate(int last) const {
    for (int step = 0; step < most_qr_steps; ++step) {
      int first = last;
      while (first > 0 && !is_small(first)) --first;
      __syncthreads();
      if (first > 0) clear(first, first - 1);
      __syncthreads();
      if (first == last) return 1;
      if (first + 1 == last) {
        split(first);
        return 2;
      }
      francis_step(first, last, step);
    }
    return 0;
  }

  /// A block of two real eigenvalues becomes triangular.
  GPU_INLINE void split(int i) const {
    Complex one, other;
    block_values(i, one, other);
    if (one.imag != 0) return;
    apply(Reflector(one.real - h(i + 1, i + 1), h(i + 1, i), 0, 2), i, i, i + 2);
    clear(i + 1, i);
    __syncthreads();
  }

  /// One implicit double-shift step on the rows [first, last].
  GPU_INLINE void francis_step(int first, int last, int step) const {
    double sum = h(last - 1, last - 1) + h(last, last);
    double product = h(last - 1, last - 1) * h(last, last) - h(last - 1, last) * h(last, last - 1);
    if (step % 10 == 9) {
      const double size = fabs(h(last, last - 1)) + fabs(h(last - 1, last - 2));
      sum = 1.5 * size;
      product = size * size;
    }
    const int k = first;
    double x = h(k, k) * h(k, k) + h(k, k + 1) * h(k + 1, k) - sum * h(k, k) + product;
    double y = h(k + 1, k) * (h(k, k) + h(k + 1, k + 1) - sum);
    double z = h(k + 1, k) * h(k + 2, k + 1);
    for (int i = first; i + 1 < last; ++i) {
      const int column = i - 1 > first ? i - 1 : first, row = i + 3 < last ? i + 3 : last;
      apply(Reflector(x, y, z, 3), i, column, row + 1);
      if (i > first) {
        clear(i + 1, i - 1);
        clear(i + 2, i - 1);
      }
      x = h(i + 1, i);
      y = h(i + 2, i);
      z = i + 3 <= last ? h(i + 3, i) : 0;
    }
    apply(Reflector(x, y, 0, 2), last - 1, last - 2, last + 1);
    clear(last, last - 2);
    __syncthreads();
  }

  GPU_INLINE Complex away_from_zero(Complex z) const {
    const double least = double_epsilon * norm > 0x1p-1000 ? double_epsilon * norm : 0x1p-1000;
    return size_of(z) < least ? Complex{least, 0} : z;
  }

  /// Of row i times y, what the columns [first, last] give.
  template <class Y>
  GPU_INLINE Complex rest(int i, int first, int last, const Y& y) const {
    Complex sum{0, 0};
    for (int j = first; j <= last; ++j) sum = sum + h(i, j) * y(j);
    return sum;
  }

  template <class Y>
  GPU_INLINE void solve_block(int i, int k, Complex value, const Y& y) const {
    const Complex a = Complex{h(i, i), 0} - value, d = Complex{h(i + 1, i + 1), 0} - value;
    const double b = h(i, i + 1), c = h(i + 1, i);
    const Complex e = -1.0 * rest(i, i + 2, k, y), f = -1.0 * rest(i + 1, i + 2, k, y);
    const Complex determinant = away_from_zero(a * d - Complex{b * c, 0});
    y(i) = (e * d - b * f) / determinant;
    y(i + 1) = (a * f - c * e) / determinant;
  }

  /// h y = value y for the eigenvalue in row k, which is the second of its block if it is in one. One thread
  /// computes it.
  template <class Y>
  GPU_INLINE void find_vector(int k, Complex value, const Y& y) const {
    for (int i = 0; i < n; ++i) y(i) = Complex{i == k ? 1.0 : 0.0, 0};
    int i = k - 1;
    if (i >= 0 && starts_block(i)) {
      y(i) = (1 / h(k, i)) * (value - Complex{h(k, k), 0});
      --i;
    }
    for (; i >= 0; --i) {
      if (i > 0 && starts_block(i - 1)) {
        solve_block(i - 1, k, value, y);
        --i;
      } else {
        y(i) = -1.0 * rest(i, i + 1, k, y) / away_from_zero(Complex{h(i, i), 0} - value);
      }
      const double size = size_of(y(i));
      for (int j = 0; size > 0x1p300 && j < n; ++j) y(j) = (1 / size) * y(j);
    }
  }
};

/// Column `from` of `all`, with length 1 and a real number in its (first) largest place; calls put(i,
/// number).
template <class Put>
GPU_INLINE void put_unit_vector(const View<Complex>& all, int from, Put put) {
  double squares = 0, most = 0;
  const auto square = [&](int i) {
    return all(i, from).real * all(i, from).real + all(i, from).imag * all(i, from).imag;
  };
  for (int i = 0; i < all.rows; ++i) {
    squares += square(i);
    most = square(i) > most ? square(i) : most;
  }
  int place = 0;
  while (place + 1 < all.rows && !(square(place) >= most * (1 - 1e-6))) ++place;
  const Complex largest = all(place, from);
  const double length = sqrt(squares), size = size_of(largest);
  const bool turns = largest.imag != 0;
  const Complex turn = turns ? Complex{largest.real / size, -largest.imag / size} : Complex{1, 0};
  for (int i = 0; i < all.rows; ++i) {
    Complex z = all(i, from) * turn;
    if (turns && i == place) z.imag = 0;
    put(i, Complex{z.real / length, z.imag / length});
  }
}

/// x times 2^-exponent, so that squares are numbers; the exponent.
GPU_INLINE int scale_down(const Work& x) {
  double largest = 0;
  for_elements(x.rows, x.columns,
               [&](int i, int j) { largest = fabs(x(i, j)) > largest ? fabs(x(i, j)) : largest; });
  largest = largest_over_threads(largest);
  const int exponent = largest > 0 ? ilogb(largest) : 0;
  for_elements(x.rows, x.columns, [&](int i, int j) { x(i, j) = ldexp(x(i, j), -exponent); });
  __syncthreads();
  return exponent;
}

/// Faults: 0: not a number; 1: no convergence.
template <class X, class Z>
GPU_INLINE void find_eig(const View<X>& given, const View<Z>& values, const View<Z>& vectors, Memory memory,
                         Fault* fault) {
  const int n = given.rows;
  const Work h = memory.matrix(n, n), q = memory.matrix(n, n);
  const View<Complex> y{reinterpret_cast<Complex*>(memory.numbers(2 * n * n)), n, n, n, 1};
  const View<Complex> product{reinterpret_cast<Complex*>(memory.numbers(2 * n * n)), n, n, n, 1};
  load(given, h);
  set_identity(q);
  __syncthreads();
  if (!is_finite(h)) {
    if (thread() == 0) report(fault, 0, 0);
    return;
  }
  const int exponent = scale_down(h);
  double largest = 0;
  for_elements(n, n, [&](int i, int j) { largest = fabs(h(i, j)) > largest ? fabs(h(i, j)) : largest; });
  const Schur schur{h, q, n, largest_over_threads(largest)};
  schur.reduce();
  for (int last = n - 1; last >= 0;) {
    const int rows = schur.deflate(last);
    if (rows == 0) {
      if (thread() == 0) report(fault, 1, 0);
      return;
    }
    last -= rows;
  }
  using Real = decltype(Z::real);
  const auto rounded = [](Complex z) { return Z{static_cast<Real>(z.real), static_cast<Real>(z.imag)}; };
  for (int k = thread(); k < n; k += threads()) {
    const Complex value = schur.value_at(k);
    values(0, k) = rounded({ldexp(value.real, exponent), ldexp(value.imag, exponent)});
    if (k > 0 && schur.starts_block(k - 1)) continue;  // the conjugate of the one before it
    schur.find_vector(schur.starts_block(k) ? k + 1 : k, value, [&](int i) -> Complex& { return y(i, k); });
  }
  __syncthreads();
  for_elements(n, n, [&](int i, int k) {
    if (k > 0 && schur.starts_block(k - 1)) return;
    Complex sum{0, 0};
    for (int j = 0; j <= (schur.starts_block(k) ? k + 1 : k); ++j) sum = sum + q(i, j) * y(j, k);
    product(i, k) = sum;
  });
  __syncthreads();
  for (int k = thread(); k < n; k += threads()) {
    if (k > 0 && schur.starts_block(k - 1)) continue;
    const bool pair = schur.starts_block(k);
    put_unit_vector(product, k, [&](int i, Complex z) {
      vectors(i, k) = rounded(z);
      if (pair) vectors(i, k + 1) = rounded({z.real, -z.imag});
    });
  }
}

}  // namespace tenon::gpu
