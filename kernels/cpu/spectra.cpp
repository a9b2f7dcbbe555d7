// The order, the signs and the completion of what the kernels find.
#include "kernels/cpu/spectra.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>

#include "base/orientation.h"
#include "kernels/cpu/factor.h"

namespace tenon::cpu {
namespace {

/// Hands out parts of a room.
struct Room {
  std::byte* next;
  template <class T>
  T* take(long count) {
    constexpr std::size_t line = 64;
    T* const taken = reinterpret_cast<T*>(next);
    next += (static_cast<std::size_t>(count) * sizeof(T) + line - 1) / line * line;
    return taken;
  }
};

/// Vectors in their order.
struct Vectors {
  double** rows;
  long count, length;

  Vectors(double* data, const std::int32_t* order, long found, long count_, long length_, Room& room)
      : rows(room.take<double*>(count_)), count(count_), length(length_) {
    for (long i = 0; i < count; ++i) rows[i] = data + (i < found ? order[i] : i) * row_stride(length);
  }

  double sign(long i) const {
    return orientation(length, [row = rows[i]](long j) { return row[j]; });
  }
  void turn(long i) const {
    for (long j = 0; j < length; ++j) rows[i][j] = -rows[i][j];
  }

  /// The rows from `first` on as unit vectors orthogonal to those before them: what these leave of the unit
  /// vector of which they leave the most, of several that rounding tells apart the first.
  void complete(long first, Room room) const {
    constexpr double level = 1e-6;
    if (first == count) return;
    double* const left = room.take<double>(length);
    std::fill_n(left, length, 1.0);
    const auto subtract_squares = [&](const double* row) {
      for (long j = 0; j < length; ++j) left[j] -= row[j] * row[j];
    };
    for (long i = 0; i < first; ++i) subtract_squares(rows[i]);
    for (long k = first; k < count; ++k) {
      const double most = *std::max_element(left, left + length);
      const long best = std::find_if(left, left + length, [&](double l) { return l >= most - level; }) - left;
      double* const row = rows[k];
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
      subtract_squares(row);
    }
  }

  void write_rows(double* to) const {
    for (long i = 0; i < count; ++i) std::copy_n(rows[i], length, to + i * length);
  }
  void write_columns(double* to) const {
    constexpr long at_once = 16;  // rows that are written
    for (long j = 0; j < length; j += at_once) {
      const long end = std::min(length, j + at_once);
      for (long i = 0; i < count; ++i)
        for (long k = j; k < end; ++k) to[k * count + i] = rows[i][k];
    }
  }
};

/// Numbers whose squares are finite: those given, times a power of two.
struct Scaled {
  const double* x;

  Scaled(const double* given, long rows, long columns, bool is_lower_triangle, Room& room) : x(given) {
    constexpr double large = 0x1p100;
    double most = 0;
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < (is_lower_triangle ? i + 1 : columns); ++j)
        most = std::max(most, std::abs(given[i * columns + j]));
    if (most == 0 || (most < large && most > 1 / large)) return;
    const int exponent = std::ilogb(most);
    double* const scaled = room.take<double>(rows * columns);
    std::transform(given, given + rows * columns, scaled,
                   [&](double number) { return std::ldexp(number, -exponent); });
    x = scaled;
    exponent_ = exponent;
  }
  double given(double number) const { return std::ldexp(number, exponent_); }

 private:
  int exponent_ = 0;
};

/// Numbers of the values, and the values, in their order.
template <class Before>
const std::int32_t* sort(const double* found, long count, const Scaled& scaled, double* values, Room& room,
                         Before before) {
  auto* const order = room.take<std::int32_t>(count);
  std::iota(order, order + count, 0);
  std::sort(order, order + count, [&](std::int32_t a, std::int32_t b) { return before(found[a], found[b]); });
  for (long i = 0; i < count; ++i) values[i] = scaled.given(found[order[i]]);
  return order;
}

}  // namespace

std::size_t spectrum_room(long rows, long columns, bool complete) {
  const long m = std::max(rows, columns), n = std::min(rows, columns), wide = row_stride(m) + 32;
  const long vectors = ((complete ? m : n) + n + 32) * wide;
  const long matrices = 2 * m * n + 2 * (n + 32) * wide, lines = 20 * wide;
  const long rotations = 4 * sweeps_at_once * n;
  return static_cast<std::size_t>(vectors + matrices + lines + rotations + matrix_room(m, n, m)) *
         sizeof(double);
}

void find_eigh(const double* x, long n, double* values, double* vectors, std::byte* memory) {
  Room room{memory};
  const Scaled scaled(x, n, n, true, room);
  SpectrumTask<double> task{.rows = n, .columns = n, .x = scaled.x, .values = room.take<double>(n)};
  if (vectors) task.right = room.take<double>(n * row_stride(n));
  task.room = reinterpret_cast<char*>(room.take<double>(0));
  find_eigen_f64(task);
  const auto* order = sort(task.values, n, scaled, values, room, std::less<>{});
  if (!vectors) return;
  const Vectors columns(task.right, order, n, n, n, room);
  for (long i = 0; i < n; ++i)
    if (columns.sign(i) < 0) columns.turn(i);
  columns.write_columns(vectors);
}

void find_singular_values(const double* x, long rows, long columns, double* s, std::byte* memory) {
  Room room{memory};
  const Scaled scaled(x, rows, columns, false, room);
  const long k = std::min(rows, columns);
  SpectrumTask<double> task{.rows = rows, .columns = columns, .x = scaled.x, .values = room.take<double>(k)};
  task.room = reinterpret_cast<char*>(room.take<double>(0));
  find_singular_f64(task);
  for (long i = 0; i < k; ++i) task.values[i] = std::abs(task.values[i]);
  sort(task.values, k, scaled, s, room, std::greater<>{});
}

void find_svd(const double* x, long rows, long columns, bool complete, double* u, double* s, double* v,
              std::byte* memory) {
  const bool is_tall = rows > columns;
  const long k = std::min(rows, columns), n = std::max(rows, columns);
  Room room{memory};
  const Scaled scaled(x, rows, columns, false, room);
  SpectrumTask<double> task{.rows = rows, .columns = columns, .x = scaled.x, .values = room.take<double>(k)};
  task.left = room.take<double>((complete ? n : k) * row_stride(n));
  task.right = room.take<double>(k * row_stride(k));
  task.room = reinterpret_cast<char*>(room.take<double>(0));
  find_singular_f64(task);
  auto* const is_negative = room.take<bool>(k);
  for (long i = 0; i < k; ++i) {
    is_negative[i] = std::signbit(task.values[i]);
    task.values[i] = std::abs(task.values[i]);
  }
  const auto* order = sort(task.values, k, scaled, s, room, std::greater<>{});
  const Vectors q(task.left, order, k, complete ? n : k, n, room), p(task.right, order, k, k, k, room);
  const double least = s[0] * (static_cast<double>(n) * std::numeric_limits<double>::epsilon());
  long rank = 0;
  for (; rank < k && s[rank] > least; ++rank) {
    const bool turns = p.sign(rank) < 0;
    if (turns) p.turn(rank);
    if (turns != is_negative[order[rank]]) q.turn(rank);
  }
  p.complete(rank, room);
  q.complete(rank, room);
  (is_tall ? q : p).write_columns(u);
  (is_tall ? p : q).write_rows(v);
}

}  // namespace tenon::cpu
