// Rotations of neighbouring rows, as implicit QR iterations make them: they are kept, a sweep behind the
// other, until there are enough to turn a strip of columns by all of them. Internal to tridiagonal.cpp and
// bidiagonal.cpp.
#pragma once
#include "kernels/cpu/simd_lanes.h"
#include "kernels/cpu/spectra.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// (x, y) becomes (cosine x + sine y, cosine y - sine x).
template <class T>
struct Rotation {
  T cosine, sine;
};

/// The rotation that makes (x, y) to (length, 0).
struct Turn {
  double cosine, sine, length;
};

TENON_INLINE Turn turn_of(double x, double y) {
  constexpr double least = 1e-280, large = 0x1p600;
  const double squares = x * x + y * y;
  if (squares < least) [[unlikely]] {
    if (y == 0) return {1, 0, x};
    const double length = __builtin_sqrt((x * large) * (x * large) + (y * large) * (y * large)) / large;
    if (length == 0) return {1, 0, x};
    return {x / length, y / length, length};
  }
  const double length = __builtin_sqrt(squares), inverse = 1 / length;
  return {x * inverse, y * inverse, length};
}

/// Dense rows, of which each starts a line of the cache and has room for whole vectors.
template <class T>
struct Rows {
  T* data;
  long count, columns, stride;
  TENON_INLINE T* operator[](long i) const { return data + i * stride; }
  /// Where the vectors of a row end.
  TENON_INLINE long end() const {
    return (columns + Lanes<T>::count - 1) / Lanes<T>::count * Lanes<T>::count;
  }
  static Rows zeros(long count, long columns, Space& space) {
    const long stride = row_stride(columns);
    return {space.take_zeros<T>(count * stride), count, columns, stride};
  }
};

template <class T>
void round_to(const Rows<double>& from, const Rows<T>& to) {
  for (long i = 0; i < from.count; i++)
    for (long j = 0; j < to.end(); j++) to[i][j] = static_cast<T>(from[i][j]);
}

/// The largest of numbers on the diagonal and beside it.
inline double size_of(const double* d, const double* e, long n) {
  double size = 0;
  for (long i = 0; i < n; i++) {
    const double here = __builtin_fabs(d[i]), beside = i < n - 1 ? __builtin_fabs(e[i]) : 0;
    const double larger = here < beside ? beside : here;
    size = size < larger ? larger : size;
  }
  return size;
}

template <class T>
class RowRotations {
 public:
  /// Of the first `columns` of rows, which may be none at all.
  RowRotations(const Rows<T>& rows, Space& space)
      : rows_(rows), room_(space.take<Rotation<T>>(rows.count * sweeps_at_once)), next_(room_) {}

  /// A sweep of `count` rotations: row `first` with the next, this one with its next, and so on. With step 1
  /// the next is the row below, with -1 that above.
  Rotation<T>* begin_sweep(long first, long count, long step) {
    if (sweeps_ == sweeps_at_once) apply();
    all_[sweeps_++] = {next_, first, count, step};
    next_ += count;
    return all_[sweeps_ - 1].rotations;
  }

  void apply() {
    constexpr long wide = 4 * Lanes<T>::count;
    long j = 0;
    const long columns = rows_.end();
    for (; j + wide <= columns; j += wide) turn_strip<4>(j);
    for (; j < columns; j += Lanes<T>::count) turn_strip<1>(j);
    sweeps_ = 0;
    next_ = room_;
  }

 private:
  struct Sweep {
    Rotation<T>* rotations;
    long first, count, step;
    Sweep from(long k) const { return {rotations + k, first + k * step, count - k, step}; }
    Sweep upto(long k) const { return {rotations, first, k, step}; }
  };

  template <int Vectors>
  __attribute__((noinline)) void turn_strip(long column) const {
    for (int i = 0; i < sweeps_; i++) {
      if (i + 1 < sweeps_ && all_[i].step == all_[i + 1].step) {
        turn_by_two<Vectors>(all_[i], all_[i + 1], column);
        i++;
      } else {
        turn<Vectors>(all_[i], column);
      }
    }
  }

  /// Rows that are turned, in registers.
  template <int Vectors>
  struct Held {
    using L = Lanes<T>;
    typename L::V v[Vectors];
    TENON_INLINE void load(const T* row) {
      TENON_UNROLL
      for (int i = 0; i < Vectors; i++) v[i] = L::load(row + i * L::count);
    }
    TENON_INLINE void store(T* row) const {
      TENON_UNROLL
      for (int i = 0; i < Vectors; i++) L::store(row + i * L::count, v[i]);
    }
    /// This becomes what is turned on, and `next` what is done with.
    TENON_INLINE void turn(const Rotation<T>& r, Held& next) {
      TENON_UNROLL
      for (int i = 0; i < Vectors; i++) {
        const typename L::V y = next.v[i];
        next.v[i] = r.cosine * v[i] + r.sine * y;
        // The multiplication that is written first is fused: what is held waits for one.
        v[i] = -r.sine * v[i] + r.cosine * y;
      }
    }
  };

  template <int Vectors>
  TENON_INLINE void turn(const Sweep& sweep, long column) const {
    if (sweep.count == 0) return;
    T* row = rows_[sweep.first] + column;
    const long next_row = sweep.step * rows_.stride;
    Held<Vectors> held, next;
    held.load(row);
    for (long k = 0; k < sweep.count; k++, row += next_row) {
      next.load(row + next_row);
      held.turn(sweep.rotations[k], next);
      next.store(row);
    }
    held.store(row);
  }

  /// Two sweeps, the second a row behind the first: a row is loaded and stored once for both.
  template <int Vectors>
  TENON_INLINE void turn_by_two(Sweep a, Sweep b, long column) const {
    // Rotations of b on rows that a does not turn, then those of a that b waits for.
    const long apart = a.step * (b.first - a.first), lead = -apart - 1;
    if (lead > 0) {
      const long count = lead < b.count ? lead : b.count;
      turn<Vectors>(b.upto(count), column);
      b = b.from(count);
    }
    const long awaited = lead > 0 ? 0 : apart + 1, first = awaited < a.count ? awaited : a.count;
    turn<Vectors>(a.upto(first), column);
    a = a.from(first);
    const long both = a.count < b.count ? a.count : b.count;
    if (both > 0) {
      T* row = rows_[b.first] + column;
      const long next_row = a.step * rows_.stride;
      Held<Vectors> of_a, of_b, next;
      of_b.load(row);
      of_a.load(row + next_row);
      for (long k = 0; k < both; k++, row += next_row) {
        next.load(row + 2 * next_row);
        of_a.turn(a.rotations[k], next);
        of_b.turn(b.rotations[k], next);
        next.store(row);
      }
      of_b.store(row);
      of_a.store(row + next_row);
    }
    turn<Vectors>(a.from(both), column);
    turn<Vectors>(b.from(both), column);
  }

  Rows<T> rows_;
  Rotation<T>*room_, *next_;
  Sweep all_[sweeps_at_once];
  int sweeps_ = 0;
};

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
