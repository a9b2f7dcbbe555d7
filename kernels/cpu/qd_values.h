// Singular values of bidiagonal matrices without their vectors: the differential quotient difference
// algorithm with shifts, of Fernando and Parlett. It divides once a step and keeps the digits of small
// values. Internal to bidiagonal.cpp.
#pragma once
#include "kernels/cpu/row_rotations.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Squares of a bidiagonal matrix B: q on, e above the diagonal.
struct Squares {
  double *q, *e;

  void copy(const Squares& from, long first, long last) const {
    const auto size = static_cast<std::size_t>(last - first) * sizeof(double);
    __builtin_memcpy(q + first, from.q + first, size + sizeof(double));
    __builtin_memcpy(e + first, from.e + first, size);
  }
  void reverse(long first, long last) const {
    const auto reverse = [](double* from, double* to) {
      for (; from < to; from++, to--) {
        const double kept = *from;
        *from = *to;
        *to = kept;
      }
    };
    reverse(q + first, q + last);
    reverse(e + first, e + last - 1);
  }
};

struct QdResult {
  double least, last;  // of the pivots before the last, and the last: B B^T was larger than the shift if none
                       // is negative
  double lower() const { return last < least ? last : least; }
  bool is_positive() const { return least >= 0 && last >= 0; }
};

/// Rows [first, last]: `to` becomes that whose B B^T is this one's B^T B less the shift.
inline QdResult shifted(const Squares& b, double shift, long first, long last, const Squares& to) {
  double pivot = b.q[first] - shift, least = pivot;
  for (long i = first; i < last; i++) {
    least = pivot < least ? pivot : least;
    const double sum = pivot + b.e[i], ratio = b.q[i + 1] / sum;
    to.q[i] = sum;
    to.e[i] = b.e[i] * ratio;
    pivot = pivot * ratio - shift;
  }
  to.q[last] = pivot;
  return {least, pivot};
}

/// The eigenvalues of [[p, .], [., s]] for a square of what stands beside the diagonal.
struct Pair {
  double larger, distance;
  Pair(double p, double s, double squared) {
    const double half = (p - s) / 2, root = __builtin_sqrt(half * half + squared);
    larger = (p + s) / 2 + root;
    distance = 2 * root;
  }
};

/// A guess just below the least eigenvalue of B B^T, of its last rows and what pivots were found before.
inline double guess_shift(const Squares& b, long last, double bound) {
  const double above = b.q[last - 1] + b.e[last - 1], squared = b.e[last - 1] * b.q[last];
  const Pair pair(above, b.q[last], squared);
  const double least = b.q[last - 1] * (b.q[last] / pair.larger);
  // How far the rows before move it: the residual, or where that is small its square.
  const double apart = above - least, part = squared / (apart * apart + squared);
  const double residual = b.e[last - 2] * b.q[last - 1] * part, first_order = __builtin_sqrt(residual);
  const double second_order = 2 * residual / pair.distance;
  const double guess = least - (first_order < second_order ? first_order : second_order);
  return guess > 0 ? guess : (bound < least ? bound : least) / 4;
}

constexpr double much_less = 1e-28;  // of a square: the root changes in its last digits

/// Rows that fell apart from those after them, and the shifts made until then.
struct QdBlock {
  long first;
  double shift;
};

/// d becomes the singular values of the bidiagonal matrix of d and e; or nothing changes: false.
inline bool find_bidiagonal_values(double* d, const double* e, long n, Space space) {
  constexpr long passes_each = 30;
  const Squares b{space.take<double>(n), space.take<double>(n)};
  const Squares next{space.take<double>(n), space.take<double>(n)};
  double* const values = space.take<double>(n);
  QdBlock* const blocks = space.take<QdBlock>(n + 1);
  double size = 0;
  for (long i = 0; i < n; i++) {
    b.q[i] = d[i] * d[i];
    size = size < b.q[i] ? b.q[i] : size;
    if (i == n - 1) break;
    b.e[i] = e[i] * e[i];
    size = size < b.e[i] ? b.e[i] : size;
  }
  const double nothing = size * unit_roundoff * unit_roundoff / 16;
  long passes = passes_each * n, count = 1, last = n - 1;
  blocks[0] = {0, 0};
  bool is_new = true;
  double bound = 0;
  while (count > 0) {
    const long first = blocks[count - 1].first;
    double& shift = blocks[count - 1].shift;
    if (last < first) {
      count--;
      is_new = true;
      continue;
    }
    const double little = shift * much_less > nothing ? shift * much_less : nothing;
    if (last == first || b.e[last - 1] <= little || b.e[last - 1] <= much_less * (shift + b.q[last])) {
      values[last] = shift + b.q[last];
      last--;
      continue;
    }
    long split = last - 1;
    while (split > first && b.e[split - 1] > little) split--;
    if (split > first) {
      blocks[count++] = {split, shift};
      is_new = true;
      continue;
    }
    if (first == last - 1) {
      const Pair pair(b.q[first] + b.e[first], b.q[last], b.e[first] * b.q[last]);
      values[first] = shift + pair.larger;
      values[last] = shift + b.q[first] * (b.q[last] / pair.larger);
      last -= 2;
      continue;
    }
    if (is_new) {
      constexpr double much = 1.5;
      if (much * b.q[first] < b.q[last]) b.reverse(first, last);
      bound = 0;
      is_new = false;
    }
    double more = guess_shift(b, last, bound);
    for (int failures = 0;; failures++) {
      if (--passes < 0) return false;
      const QdResult found = shifted(b, more, first, last, next);
      if (found.is_positive()) {
        bound = found.lower();
        break;
      }
      if (more == 0) return false;
      // Where only the last pivot is negative, the shift and it are a lower bound.
      const bool is_late = found.least >= 0 && found.last < 0 && more + found.last > 0;
      more = failures > 1 ? 0 : is_late ? (more + found.last) * (1 - 4 * unit_roundoff) : more / 4;
    }
    shift += more;
    b.copy(next, first, last);
  }
  for (long i = 0; i < n; i++) d[i] = __builtin_sqrt(values[i]);
  return true;
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
