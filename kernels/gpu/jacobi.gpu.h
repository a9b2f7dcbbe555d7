// Jacobi's rotations: eigenvalues of symmetric matrices, and singular values. All pairs of a round are apart
// from each other and are turned at once; the reference takes the same rounds
// (ir/ops/spectral_reference.cpp).
#pragma once
#include "kernels/gpu/matrix.gpu.h"

namespace tenon::gpu {

constexpr int most_sweeps = 60;
constexpr double jacobi_precision = 1e-15;

/// The rotation that makes [[a, c], [c, b]] diagonal.
struct Rotation {
  double cosine = 1, sine = 0;

  Rotation() = default;
  GPU_INLINE Rotation(double a, double b, double c) {
    const double slope = (b - a) / (2 * c);
    const double tangent = copysign(1.0, slope) / (fabs(slope) + hypot(1.0, slope));
    cosine = 1 / hypot(1.0, tangent);
    sine = cosine * tangent;
  }
  GPU_INLINE void turn(double& x, double& y) const {
    const double old = x;
    x = cosine * old - sine * y;
    y = sine * old + cosine * y;
  }
};

/// Pair `number` of a round of a tournament of n rows: p < q, and q == n is nobody.
struct Pair {
  int p, q;
};
GPU_INLINE int pairs_of(int n) { return (n + 1) / 2; }
GPU_INLINE int rounds_of(int n) { return 2 * pairs_of(n) - 1; }
GPU_INLINE Pair pair_of(int n, int round, int number) {
  const int rounds = rounds_of(n);
  const int a = number == 0 ? rounds : (round + number) % rounds, b = (round - number + rounds) % rounds;
  return {a < b ? a : b, a < b ? b : a};
}

/// One round on both sides of the symmetric x, and on the rows of v.
GPU_INLINE void turn_pairs(const Work& x, const Work& v, int round, const Rotation* rotations) {
  const int n = x.rows, pairs = pairs_of(n);
  for_elements(pairs, pairs, [&](int k, int l) {
    const Pair rows = pair_of(n, round, k), columns = pair_of(n, round, l);
    const bool row = rows.q < n, column = columns.q < n;
    double a = x(rows.p, columns.p), b = column ? x(rows.p, columns.q) : 0;
    double c = row ? x(rows.q, columns.p) : 0, d = row && column ? x(rows.q, columns.q) : 0;
    rotations[k].turn(a, c);
    rotations[k].turn(b, d);
    rotations[l].turn(a, b);
    rotations[l].turn(c, d);
    if (k == l && rotations[k].sine != 0) b = c = 0;
    x(rows.p, columns.p) = a;
    if (column) x(rows.p, columns.q) = b;
    if (row) x(rows.q, columns.p) = c;
    if (row && column) x(rows.q, columns.q) = d;
  });
  for_elements(pairs, n, [&](int k, int j) {
    const Pair rows = pair_of(n, round, k);
    if (rows.q < n) rotations[k].turn(v(rows.p, j), v(rows.q, j));
  });
}

/// x's off-diagonal becomes 0 and its diagonal the eigenvalues; v's rows, an identity's, the eigenvectors.
GPU_INLINE void diagonalise(const Work& x, const Work& v, Rotation* rotations) {
  const int n = x.rows;
  bool moved = true;
  for (int sweep = 0; moved && sweep < most_sweeps; ++sweep) {
    moved = false;
    double size = 0;
    for_elements(n, n, [&](int i, int j) { size = fabs(x(i, j)) > size ? fabs(x(i, j)) : size; });
    const double least = jacobi_precision * 1e-3 * largest_over_threads(size);
    for (int round = 0; round < rounds_of(n); ++round) {
      for (int k = thread(); k < pairs_of(n); k += threads()) {
        const Pair at = pair_of(n, round, k);
        const bool turns = at.q < n && !(fabs(x(at.p, at.q)) <= least);
        rotations[k] = turns ? Rotation(x(at.p, at.p), x(at.q, at.q), x(at.p, at.q)) : Rotation();
        moved = moved || turns;
      }
      __syncthreads();
      turn_pairs(x, v, round, rotations);
      __syncthreads();
    }
    moved = any_thread(moved);
  }
}

/// How many of n numbers come before number i.
template <class Before>
GPU_INLINE int rank_among(int n, int i, Before before) {
  int rank = 0;
  for (int k = 0; k < n; ++k) rank += before(k, i) || (!before(i, k) && k < i) ? 1 : 0;
  return rank;
}

/// Of row i (base/orientation.h).
GPU_INLINE double orientation_of_row(const Work& v, int i) {
  double largest = 0;
  for (int j = 0; j < v.columns; ++j) largest = fabs(v(i, j)) > largest ? fabs(v(i, j)) : largest;
  for (int j = 0; j < v.columns; ++j)
    if (fabs(v(i, j)) >= 0.6 * largest) return v(i, j) < 0 ? -1 : 1;
  return 1;
}

/// Eigenvalues, ascending, and eigenvectors (columns) of the matrix whose lower triangle is x's.
template <class X, class Y>
GPU_INLINE void find_eigh(const View<X>& given, const View<Y>& values, const View<Y>& vectors, Memory memory,
                          Fault* fault) {
  const int n = given.rows;
  const Work x = memory.matrix(n, n), v = memory.matrix(n, n);
  Rotation* const rotations = reinterpret_cast<Rotation*>(memory.numbers(2 * pairs_of(n)));
  for_elements(n, n, [&](int i, int j) { x(i, j) = wide(i >= j ? given(i, j) : given(j, i)); });
  set_identity(v);
  __syncthreads();
  if (!is_finite(x)) {
    if (thread() == 0) report(fault, 0, 0);
    return;
  }
  diagonalise(x, v, rotations);
  const auto before = [&](int i, int k) { return x(i, i) < x(k, k); };
  for (int i = thread(); i < n; i += threads()) {
    const int to = rank_among(n, i, before);
    const double sign = orientation_of_row(v, i);
    values(0, to) = convert<Y>(x(i, i));
    for (int j = 0; j < n; ++j) vectors(j, to) = convert<Y>(sign * v(i, j));
  }
}

/// Of the wave's lanes.
GPU_INLINE double dot_of_rows(const Work& x, int p, int q) {
  double sum = 0;
  for (int j = lane_of_thread(); j < x.columns; j += wave_size) sum += x(p, j) * x(q, j);
  for (int mask = wave_size / 2; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  return sum;
}

/// Rows of x made orthogonal to each other, by rotations that are applied to v's rows too: a wave for each
/// pair.
GPU_INLINE void orthogonalise_rows(const Work& x, const Work& v) {
  const int n = x.rows, waves = threads() / wave_size;
  bool moved = true;
  for (int sweep = 0; moved && sweep < most_sweeps; ++sweep) {
    moved = false;
    for (int round = 0; round < rounds_of(n); ++round) {
      for (int k = wave_of_thread(); k < pairs_of(n); k += waves) {
        const Pair at = pair_of(n, round, k);
        if (at.q == n) continue;
        const double a = dot_of_rows(x, at.p, at.p), b = dot_of_rows(x, at.q, at.q),
                     c = dot_of_rows(x, at.p, at.q);
        if (fabs(c) <= jacobi_precision * sqrt(a * b) || c == 0) continue;
        moved = true;
        const Rotation rotation(a, b, c);
        for (int j = lane_of_thread(); j < x.columns; j += wave_size) rotation.turn(x(at.p, j), x(at.q, j));
        for (int j = lane_of_thread(); j < v.columns; j += wave_size) rotation.turn(v(at.p, j), v(at.q, j));
      }
      __syncthreads();
    }
    moved = any_thread(moved);
  }
}

/// Row k of q as a unit vector orthogonal to the rows above it; `dots` has room for k numbers.
GPU_INLINE void complete_row(const Work& q, int k, double* dots) {
  constexpr double level = 1e-6;  // what is lost of a column to count as less
  const auto left_of = [&](int j) {
    double left = 1;
    for (int i = 0; i < k; ++i) left -= q(i, j) * q(i, j);
    return left;
  };
  double most = -1;
  for (int j = thread(); j < q.columns; j += threads()) most = left_of(j) > most ? left_of(j) : most;
  most = largest_over_threads(most);
  Largest first{-1, 0};
  for (int j = thread(); j < q.columns; j += threads()) first.see(left_of(j) >= most - level ? 1 : 0, j);
  const int best = largest_over_threads(first).place;
  for (int j = thread(); j < q.columns; j += threads()) q(k, j) = j == best ? 1 : 0;
  __syncthreads();
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = wave_of_thread(); i < k; i += threads() / wave_size) {
      const double dot = dot_of_rows(q, i, k);
      if (lane_of_thread() == 0) dots[i] = dot;
    }
    __syncthreads();
    double squares = 0;
    for (int j = thread(); j < q.columns; j += threads()) {
      double x = q(k, j);
      for (int i = 0; i < k; ++i) x -= dots[i] * q(i, j);
      q(k, j) = x;
      squares += x * x;
    }
    const double length = sqrt(sum_over_threads(squares));
    for (int j = thread(); j < q.columns; j += threads()) q(k, j) /= length;
    __syncthreads();
  }
}

/// x[k, n], k <= n, as P^T diag(s) R: p[k, k], and r[rows, n], rows >= k, with orthonormal rows.
template <class X, class Y>
GPU_INLINE void decompose_wide(const View<X>& given, const View<Y>& p, const View<Y>& s, const View<Y>& r,
                               Memory memory, Fault* fault) {
  const int k = given.rows, n = given.columns;
  const Work x = memory.matrix(k, n), turned = memory.matrix(k, k), rows = memory.matrix(r.rows, n);
  double *const lengths = memory.numbers(k), *const dots = memory.numbers(r.rows);
  load(given, x);
  set_identity(turned);
  __syncthreads();
  if (!is_finite(x)) {
    if (thread() == 0) report(fault, 0, 0);
    return;
  }
  orthogonalise_rows(x, turned);
  for (int i = wave_of_thread(); i < k; i += threads() / wave_size) {
    const double square = dot_of_rows(x, i, i);
    if (lane_of_thread() == 0) lengths[i] = sqrt(square);
  }
  __syncthreads();
  Largest longest{-1, 0};
  for (int i = thread(); i < k; i += threads()) longest.see(lengths[i], i);
  const double least = largest_over_threads(longest).size * 1e-16;
  const auto before = [&](int i, int j) { return lengths[i] > lengths[j]; };
  int whole = 0;  // rows that stand for a singular value
  for (int i = 0; i < k; ++i) {
    const int to = rank_among(k, i, before);
    const double sign = orientation_of_row(turned, i);
    whole += lengths[i] > least ? 1 : 0;
    if (thread() == 0) s(0, to) = convert<Y>(lengths[i]);
    for (int j = thread(); j < k; j += threads()) p(to, j) = convert<Y>(sign * turned(i, j));
    for (int j = thread(); j < n; j += threads()) rows(to, j) = sign * x(i, j) / lengths[i];
  }
  __syncthreads();
  for (int i = whole; i < r.rows; ++i) complete_row(rows, i, dots);
  store(rows, r);
}

/// x = U diag(s) V^T.
template <class X, class Y>
GPU_INLINE void find_svd(const View<X>& x, const View<Y>& u, const View<Y>& s, const View<Y>& v,
                         Memory memory, Fault* fault) {
  if (x.rows <= x.columns)
    decompose_wide(x, u.transposed(), s, v, memory, fault);
  else
    decompose_wide(x.transposed(), v, s, u.transposed(), memory, fault);
}

}  // namespace tenon::gpu
