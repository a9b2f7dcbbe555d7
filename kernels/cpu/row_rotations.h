// Rotations of neighbouring rows, as implicit QR iterations make them: they are kept, a sweep behind the
// other, until there are enough to turn a strip of columns by all of them. Internal to tridiagonal.cpp and
// bidiagonal.cpp.
#pragma once
#include "kernels/cpu/simd_lanes.h"
#include "kernels/cpu/spectra.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Hands out parts of memory, each as of a cache line.
struct Space {
  char* next;
  template <class T>
  TENON_INLINE T* take(long count) {
    constexpr std::size_t line = 64;
    T* const taken = reinterpret_cast<T*>(next);
    next += (static_cast<std::size_t>(count) * sizeof(T) + line - 1) / line * line;
    return taken;
  }
  template <class T>
  T* take_zeros(long count) {
    T* const taken = take<T>(count);
    __builtin_memset(taken, 0, static_cast<std::size_t>(count) * sizeof(T));
    return taken;
  }
};

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

  /// A sweep of `count` rotations, of which the first turns rows `first` and first + 1, and each further one
  /// the rows after or, `upwards`, before.
  Rotation<T>* begin_sweep(long first, long count, bool upwards) {
    if (sweeps_ == sweeps_at_once) apply();
    all_[sweeps_++] = {next_, first, count, upwards};
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
    long first, count;
    bool upwards;
  };

  template <int Vectors>
  __attribute__((noinline)) void turn_strip(long column) const {
    for (int i = 0; i < sweeps_; i++) {
      const Sweep& sweep = all_[i];
      if (sweep.upwards)
        turn_up<Vectors>(sweep, rows_[sweep.first + 1] + column);
      else
        turn_down<Vectors>(sweep, rows_[sweep.first] + column);
    }
  }

  template <int Vectors>
  TENON_INLINE void turn_down(const Sweep& sweep, T* row) const {
    using L = Lanes<T>;
    typename L::V held[Vectors];
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) held[v] = L::load(row + v * L::count);
    for (long k = 0; k < sweep.count; k++) {
      const Rotation<T> r = sweep.rotations[k];
      T* const below = row + rows_.stride;
      TENON_UNROLL
      for (int v = 0; v < Vectors; v++) {
        const typename L::V y = L::load(below + v * L::count);
        // The multiplication that is written first is fused with the addition: what is held waits for one.
        L::store(row + v * L::count, r.cosine * held[v] + r.sine * y);
        held[v] = -r.sine * held[v] + r.cosine * y;
      }
      row = below;
    }
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) L::store(row + v * L::count, held[v]);
  }

  template <int Vectors>
  TENON_INLINE void turn_up(const Sweep& sweep, T* row) const {
    using L = Lanes<T>;
    typename L::V held[Vectors];
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) held[v] = L::load(row + v * L::count);
    for (long k = 0; k < sweep.count; k++) {
      const Rotation<T> r = sweep.rotations[k];
      T* const above = row - rows_.stride;
      TENON_UNROLL
      for (int v = 0; v < Vectors; v++) {
        const typename L::V x = L::load(above + v * L::count);
        L::store(row + v * L::count, r.cosine * held[v] - r.sine * x);
        held[v] = r.sine * held[v] + r.cosine * x;
      }
      row = above;
    }
    TENON_UNROLL
    for (int v = 0; v < Vectors; v++) L::store(row + v * L::count, held[v]);
  }

  Rows<T> rows_;
  Rotation<T>*room_, *next_;
  Sweep all_[sweeps_at_once];
  int sweeps_ = 0;
};

}  // namespace
}  // namespace tenon::cpu::TENON_ISA
