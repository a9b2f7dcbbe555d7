// Implicit QL iterations on tridiagonal matrices. Internal to tridiagonal.cpp and divide_conquer.h.
#pragma once
#include "kernels/cpu/row_rotations.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// A tridiagonal matrix from its upper or its lower end on.
struct Ends {
  double *d, *e;
  long step;
  double& at(long i) const { return d[i * step]; }
  double& beside(long i) const { return e[i * step]; }
};

TENON_INLINE double shift_of(double here, double next, double beside) {
  const double slope = (next - here) / (2 * beside);
  return here - beside / (slope + __builtin_copysign(__builtin_sqrt(slope * slope + 1), slope));
}

/// Implicit QL with rotations of the vectors' rows.
template <class T>
struct WithVectors {
  RowRotations<T>& rotations;
  double tiny;

  TENON_INLINE bool is_negligible(const Ends& t, long i) const {
    return __builtin_fabs(t.beside(i)) <=
           unit_roundoff * (__builtin_fabs(t.at(i)) + __builtin_fabs(t.at(i + 1))) + tiny;
  }

  /// Elements [l, m] of t, whose first is row `row`.
  void sweep(const Ends& t, long l, long m, long row) const {
    Rotation<T>* next = rotations.begin_sweep(row + t.step * m, m - l, -t.step);
    double g = t.at(m) - shift_of(t.at(l), t.at(l + 1), t.beside(l)), sine = 1, cosine = 1, p = 0;
    for (long i = m - 1; i >= l; i--, next++) {
      const double f = sine * t.beside(i), b = cosine * t.beside(i);
      const Turn turn = turn_of(g, f);
      if (i < m - 1) t.beside(i + 1) = turn.length;
      cosine = turn.cosine, sine = turn.sine;
      const double before = t.at(i + 1) - p, rest = (t.at(i) - before) * sine + 2 * cosine * b;
      p = sine * rest;
      t.at(i + 1) = before + p;
      g = cosine * rest - b;
      *next = {static_cast<T>(cosine), static_cast<T>(sine)};
    }
    t.at(l) -= p;
    t.beside(l) = g;
  }
};

/// QL without square roots, of Pal, Walker and Kahan, on squares of what stands beside the diagonal.
struct ValuesOnly {
  double tiny;

  TENON_INLINE bool is_negligible(const Ends& t, long i) const {
    const double size = unit_roundoff * (__builtin_fabs(t.at(i)) + __builtin_fabs(t.at(i + 1))) + tiny;
    return t.beside(i) <= size * size;
  }

  void sweep(const Ends& t, long l, long m, long) const {
    const double shift = shift_of(t.at(l), t.at(l + 1), __builtin_sqrt(t.beside(l)));
    constexpr double least = 1e-200;  // no division by less: the rotation is a quarter turn
    double gamma = t.at(m) - shift, p = gamma * gamma, cosine = 1, sine = 0;
    for (long i = m - 1; i >= l; i--) {
      const double squared = t.beside(i), length = p + squared;
      if (i < m - 1) t.beside(i + 1) = sine * length;
      const double cosine_before = cosine, before = gamma, inverse = length / p;
      cosine = p / length;
      sine = squared / length;
      gamma = cosine * (t.at(i) - shift) - sine * before;
      t.at(i + 1) = before + (t.at(i) - gamma);
      p = p > least ? gamma * gamma * inverse : cosine_before * squared;
    }
    t.beside(l) = sine * p;
    t.at(l) = shift + gamma;
  }
};

/// d becomes the eigenvalues of the tridiagonal matrix.
template <class Way>
__attribute__((noinline)) void find_values(const Way& way, double* d, double* e, long n) {
  constexpr long sweeps_each = 30;
  long sweeps = sweeps_each * n;
  const Ends whole{d, e, 1};
  for (long first = 0, last; first < n; first = last + 1) {
    for (last = first; last < n - 1 && !way.is_negligible(whole, last);) last++;
    // The iterations begin where numbers are large.
    const bool turned = __builtin_fabs(d[last]) < __builtin_fabs(d[first]);
    const Ends t = turned ? Ends{d + last, e + last - 1, -1} : Ends{d + first, e + first, 1};
    const long end = last - first, row = turned ? last : first;
    for (long l = 0; l < end;) {
      long m = l;
      while (m < end && !way.is_negligible(t, m)) m++;
      if (m == l)
        l++;
      else if (sweeps-- > 0)
        way.sweep(t, l, m, row);
      else
        return;
    }
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
