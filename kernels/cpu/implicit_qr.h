// Implicit QR iterations on bidiagonal matrices, with rotations of the vectors' rows. Internal to
// bidiagonal.cpp.
#pragma once
#include "kernels/cpu/row_rotations.h"

namespace tenon::cpu::TENON_ISA {
namespace {

struct Bidiagonal {
  double *d, *e;  // e above d
  long n;
};

/// Rotations from both sides; or of nobody.
template <class T>
struct Sides {
  RowRotations<T>*left, *right;
};

/// The smaller singular value of [[f, g], [0, h]].
double least_of_pair(double f, double g, double h) {
  f = __builtin_fabs(f), g = __builtin_fabs(g), h = __builtin_fabs(h);
  const double least = f < h ? f : h, most = f < h ? h : f;
  if (least == 0) return 0;
  if (g < most) {
    const double s = 1 + least / most, t = (most - least) / most, squared = (g / most) * (g / most);
    return least * (2 / (__builtin_sqrt(s * s + squared) + __builtin_sqrt(t * t + squared)));
  }
  const double ratio = most / g;
  if (ratio == 0) return least * most / g;
  const double s = (1 + least / most) * ratio, t = ((most - least) / most) * ratio;
  return 2 * (least / (__builtin_sqrt(1 + s * s) + __builtin_sqrt(1 + t * t))) * ratio;
}

/// A block of a bidiagonal matrix from its upper end; or turned upside down and transposed, from its lower.
template <class T>
struct Chase {
  double *d, *e;
  long step, size;
  RowRotations<T>*before, *after;  // of the side whose rotations come first, and of the other

  TENON_INLINE double& at(long i) const { return d[i * step]; }
  TENON_INLINE double& beside(long i) const { return e[i * step]; }
  static TENON_INLINE void keep(Rotation<T>*& next, const Turn& turn) {
    if (next) *next++ = {static_cast<T>(turn.cosine), static_cast<T>(turn.sine)};
  }
  Rotation<T>* begin(RowRotations<T>* rotations, long row) const {
    return rotations ? rotations->begin_sweep(row, size - 1, step) : nullptr;
  }

  void sweep(double shift, long row) const {
    Rotation<T>*first = begin(before, row), *second = begin(after, row);
    double f = (__builtin_fabs(at(0)) - shift) * (__builtin_copysign(1, at(0)) + shift / at(0));
    double g = beside(0);
    for (long i = 0; i < size - 1; i++) {
      const Turn r = turn_of(f, g);
      if (i > 0) beside(i - 1) = r.length;
      f = r.cosine * at(i) + r.sine * beside(i);
      beside(i) = r.cosine * beside(i) - r.sine * at(i);
      g = r.sine * at(i + 1);
      at(i + 1) = r.cosine * at(i + 1);
      keep(first, r);
      const Turn l = turn_of(f, g);
      at(i) = l.length;
      f = l.cosine * beside(i) + l.sine * at(i + 1);
      at(i + 1) = l.cosine * at(i + 1) - l.sine * beside(i);
      if (i < size - 2) {
        g = l.sine * beside(i + 1);
        beside(i + 1) = l.cosine * beside(i + 1);
      }
      keep(second, l);
    }
    beside(size - 2) = f;
  }

  /// Of Demmel and Kahan: small numbers keep all their digits.
  void sweep_without_shift(long row) const {
    Rotation<T>*first = begin(before, row), *second = begin(after, row);
    Turn r{1, 0, 0}, l{1, 0, 0};
    for (long i = 0; i < size - 1; i++) {
      r = turn_of(at(i) * r.cosine, beside(i));
      if (i > 0) beside(i - 1) = l.sine * r.length;
      keep(first, r);
      l = turn_of(l.cosine * r.length, at(i + 1) * r.sine);
      at(i) = l.length;
      keep(second, l);
    }
    const double last = at(size - 1) * r.cosine;
    at(size - 1) = last * l.cosine;
    beside(size - 2) = last * l.sine;
  }

  /// Where it falls into two, of which the second begins there, or 0. Of the least singular value a bound.
  long find_split(double tolerance, double& least) const {
    if (__builtin_fabs(beside(size - 2)) <= tolerance * __builtin_fabs(at(size - 1))) return size - 1;
    double bound = __builtin_fabs(at(0));
    least = bound;
    for (long i = 0; i < size - 1; i++) {
      const double here = __builtin_fabs(beside(i));
      if (here <= tolerance * bound) return i + 1;
      bound = __builtin_fabs(at(i + 1)) * (bound / (bound + here));
      least = bound < least ? bound : least;
    }
    return 0;
  }

  double shift(double tolerance, double least, double largest) const {
    if (static_cast<double>(size) * tolerance * (least / largest) <= unit_roundoff) return 0;
    const double found = least_of_pair(at(size - 2), beside(size - 2), at(size - 1));
    const double ratio = found / __builtin_fabs(at(0));
    return ratio * ratio < unit_roundoff ? 0 : found;
  }
};

/// Makes d the singular values, some of them negative.
template <class T>
void make_diagonal(const Bidiagonal& b, const Sides<T>& sides) {
  constexpr double tolerance = 64 * unit_roundoff, least_ratio = 1e-100;
  const double tiny = size_of(b.d, b.e, b.n) * least_ratio;
  long rotations = 12 * b.n * b.n;  // at most
  long first_before = -1, last_before = -1;
  bool turned = false;
  for (long last = b.n - 1; last > 0;) {
    long first = last;
    double largest = __builtin_fabs(b.d[last]);
    for (; first > 0; first--) {
      if (__builtin_fabs(b.d[first]) <= tiny) b.d[first] = 0;
      if (__builtin_fabs(b.e[first - 1]) <= tiny) {
        b.e[first - 1] = 0;
        break;
      }
      const double here = __builtin_fabs(b.d[first - 1]), above = __builtin_fabs(b.e[first - 1]);
      largest = largest < here ? here : largest;
      largest = largest < above ? above : largest;
    }
    if (first == last) {
      last--;
      continue;
    }
    // A new block; of one that shrinks the direction stays.
    if (first > last_before || last < first_before)
      turned = __builtin_fabs(b.d[first]) < __builtin_fabs(b.d[last]);
    first_before = first, last_before = last;
    const long count = last - first + 1;
    const Chase<T> chase = turned ? Chase<T>{b.d + last, b.e + last - 1, -1, count, sides.left, sides.right}
                                  : Chase<T>{b.d + first, b.e + first, 1, count, sides.right, sides.left};
    double least = 0;
    if (const long split = chase.find_split(tolerance, least)) {
      chase.beside(split - 1) = 0;
      continue;
    }
    if ((rotations -= count) < 0) return;
    const double shift = chase.shift(tolerance, least, largest);
    const long row = turned ? last : first;
    if (shift == 0)
      chase.sweep_without_shift(row);
    else
      chase.sweep(shift, row);
  }
}

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
