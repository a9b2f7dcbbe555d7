// The order, the signs and the completion of what the kernels find.
#include "kernels/cpu/spectra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <type_traits>

#include "base/orientation.h"
#include "kernels/cpu/factor.h"
#include "kernels/cpu/matrix_exp.h"
#include "kernels/cpu/typed_product_panel.h"

namespace tenon::cpu {
namespace {

/// Vectors in their order.
template <class V>
struct Vectors {
  V** rows;
  long count, length;

  Vectors(V* data, const std::int32_t* order, long found, long count_, long length_, Space& room)
      : rows(room.take<V*>(count_)), count(count_), length(length_) {
    for (long i = 0; i < count; ++i) rows[i] = data + (i < found ? order[i] : i) * row_stride(length);
  }

  double sign(long i) const {
    return orientation(length, [row = rows[i]](long j) { return static_cast<double>(row[j]); });
  }
  void turn(long i) const {
    for (long j = 0; j < length; ++j) rows[i][j] = -rows[i][j];
  }

  /// The rows from `first` on as unit vectors orthogonal to those before them: what these leave of the unit
  /// vector of which they leave the most, of several that rounding tells apart the first.
  void complete(long first, Space room) const {
    constexpr double level = 1e-6;
    if (first == count) return;
    double *const left = room.take<double>(length), *const row = room.take<double>(length);
    std::fill_n(left, length, 1.0);
    const auto subtract_squares = [&](const V* of) {
      for (long j = 0; j < length; ++j) left[j] -= static_cast<double>(of[j]) * static_cast<double>(of[j]);
    };
    for (long i = 0; i < first; ++i) subtract_squares(rows[i]);
    for (long k = first; k < count; ++k) {
      const double most = *std::max_element(left, left + length);
      const long best = std::find_if(left, left + length, [&](double l) { return l >= most - level; }) - left;
      std::fill_n(row, length, 0.0);
      row[best] = 1;
      for (int pass = 0; pass < 2; ++pass) {
        for (long i = 0; i < k; ++i) {
          const double along = std::inner_product(row, row + length, rows[i], 0.0);
          for (long j = 0; j < length; ++j) row[j] -= along * rows[i][j];
        }
        const double size = std::sqrt(std::inner_product(row, row + length, row, 0.0));
        for (long j = 0; j < length; ++j) row[j] /= size;
      }
      std::copy_n(row, length, rows[k]);
      subtract_squares(rows[k]);
    }
  }

  template <class T>
  void write_rows(T* to) const {
    for (long i = 0; i < count; ++i) std::copy_n(rows[i], length, to + i * length);
  }
  template <class T>
  void write_columns(T* to) const {
    constexpr long at_once = 16;  // rows that are written
    for (long j = 0; j < length; j += at_once) {
      const long end = std::min(length, j + at_once);
      for (long i = 0; i < count; ++i)
        for (long k = j; k < end; ++k) to[k * count + i] = static_cast<T>(rows[i][k]);
    }
  }
};

/// The numbers given in f64, times a power of two where their squares are not finite.
struct Scaled {
  const double* x;
  double back = 1;

  template <class T>
  Scaled(const T* given, long rows, long columns, bool is_lower_triangle, Space& room) {
    constexpr double large = 0x1p100;
    T most = 0;
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < (is_lower_triangle ? i + 1 : columns); ++j)
        most = std::max(most, std::abs(given[i * columns + j]));
    const bool is_moderate = most == 0 || (most < large && most > 1 / large);
    if constexpr (std::is_same_v<T, double>) {
      x = given;
      if (is_moderate) return;
    }
    double* const numbers = room.take<double>(rows * columns);
    std::copy_n(given, rows * columns, numbers);
    x = numbers;
    if (is_moderate) return;
    const int exponent = std::ilogb(most);
    std::for_each_n(numbers, rows * columns, [&](double& number) { number = std::ldexp(number, -exponent); });
    back = std::ldexp(1, exponent);
  }
};

/// Numbers of the values, and the values, in their order; of equal ones the first found comes first.
template <class T, class Before>
const std::int32_t* sort(const double* found, long count, double scale, T* values, Space& room,
                         Before before) {
  auto* const order = room.take<std::int32_t>(count);
  std::iota(order, order + count, 0);
  std::sort(order, order + count, [&](std::int32_t a, std::int32_t b) {
    return before(found[a], found[b]) || (a < b && !before(found[b], found[a]));
  });
  for (long i = 0; i < count; ++i) values[i] = static_cast<T>(found[order[i]] * scale);
  return order;
}

/// Vectors of float32 are turned in it where that is faster and rounding does not decide which are completed.
constexpr long many = 64;

void find(const SpectrumTask<float>& task, bool is_symmetric) {
  is_symmetric ? find_eigen_f32(task) : find_singular_f32(task);
}
void find(const SpectrumTask<double>& task, bool is_symmetric) {
  is_symmetric ? find_eigen_f64(task) : find_singular_f64(task);
}

template <class V, class T>
void find_eigh_in(const T* x, long n, T* values, T* vectors, std::byte* memory) {
  Space room{memory};
  const Scaled scaled(x, n, n, true, room);
  SpectrumTask<V> task{.rows = n, .columns = n, .x = scaled.x, .values = room.take<double>(n)};
  if (vectors) task.right = room.take<V>(n * row_stride(n));
  task.room = room.next;
  find(task, true);
  const auto* order = sort(task.values, n, scaled.back, values, room, std::less<>{});
  if (!vectors) return;
  const Vectors<V> columns(task.right, order, n, n, n, room);
  for (long i = 0; i < n; ++i)
    if (columns.sign(i) < 0) columns.turn(i);
  columns.write_columns(vectors);
}

template <class V, class T>
void find_svd_in(const T* x, long rows, long columns, bool complete, T* u, T* s, T* v, std::byte* memory) {
  const bool is_tall = rows > columns;
  const long k = std::min(rows, columns), n = std::max(rows, columns);
  Space room{memory};
  const Scaled scaled(x, rows, columns, false, room);
  SpectrumTask<V> task{.rows = rows, .columns = columns, .x = scaled.x, .values = room.take<double>(k)};
  if (u) {
    task.left = room.take<V>((complete ? n : k) * row_stride(n));
    task.right = room.take<V>(k * row_stride(k));
  }
  auto* const is_negative = room.take<bool>(k);
  task.room = room.next;
  find(task, false);
  for (long i = 0; i < k; ++i) {
    is_negative[i] = std::signbit(task.values[i]);
    task.values[i] = std::abs(task.values[i]);
  }
  const auto* order = sort(task.values, k, scaled.back, s, room, std::greater<>{});
  if (!u) return;
  const Vectors<V> q(task.left, order, k, complete ? n : k, n, room), p(task.right, order, k, k, k, room);
  const auto value = [&](long i) { return task.values[order[i]]; };
  const double least = value(0) * (static_cast<double>(n) * std::numeric_limits<double>::epsilon());
  long rank = 0;
  for (; rank < k && value(rank) > least; ++rank) {
    const bool turns = p.sign(rank) < 0;
    if (turns) p.turn(rank);
    if (turns != is_negative[order[rank]]) q.turn(rank);
  }
  p.complete(rank, room);
  q.complete(rank, room);
  (is_tall ? q : p).write_columns(u);
  (is_tall ? p : q).write_rows(v);
}

}  // namespace

std::size_t spectrum_room(long rows, long columns, bool complete) {
  const long m = std::max(rows, columns), n = std::min(rows, columns), wide = row_stride(m) + 32;
  const long vectors = ((complete ? m : n) + n + 32) * wide;
  const long matrices = 4 * m * n + 6 * (n + 32) * wide, lines = 20 * wide;
  const long rotations = 4 * sweeps_at_once * n;
  return static_cast<std::size_t>(vectors + matrices + lines + rotations + matrix_room(m, n, m)) *
         sizeof(double);
}

std::size_t matrix_exp_room(long n) {
  constexpr long line = 8;
  return static_cast<std::size_t>(typed_work_size + 6 * (n * n + line)) * sizeof(double);
}

template <class T>
void find_eigh(const T* x, long n, T* values, T* vectors, std::byte* room) {
  n > many ? find_eigh_in<T>(x, n, values, vectors, room) : find_eigh_in<double>(x, n, values, vectors, room);
}

template <class T>
void find_singular_values(const T* x, long rows, long columns, T* s, std::byte* room) {
  find_svd_in<T, T>(x, rows, columns, false, nullptr, s, nullptr, room);
}

template <class T>
void find_svd(const T* x, long rows, long columns, bool complete, T* u, T* s, T* v, std::byte* room) {
  const long k = std::min(rows, columns);
  const bool has_many = k > many || (k > many / 2 && 2 * std::max(rows, columns) > 3 * k);
  has_many && !complete ? find_svd_in<T>(x, rows, columns, complete, u, s, v, room)
                        : find_svd_in<double>(x, rows, columns, complete, u, s, v, room);
}

#define TENON_SPECTRA(T)                                                    \
  template void find_eigh(const T*, long, T*, T*, std::byte*);              \
  template void find_singular_values(const T*, long, long, T*, std::byte*); \
  template void find_svd(const T*, long, long, bool, T*, T*, T*, std::byte*);
TENON_SPECTRA(float)
TENON_SPECTRA(double)
#undef TENON_SPECTRA

}  // namespace tenon::cpu
