// References of the reductions: the reduced axes are moved to the end, and each row is reduced.
#include <cmath>

#include "base/scalar.h"
#include "ir/ops/reduce.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return std::isnan(x);
  else
    return false;
}

template <class T>
using Row = std::span<const T>;

// out[i] = f(row i), where a row holds what is reduced to element i.
template <class F>
void each_row(const Tensor& x, const Axes& axes, Tensor& out, F&& f) {
  const Tensor rows = widened(x.permute(moved_last(x.rank(), axes)));
  const std::int64_t count = out.numel();
  const std::int64_t length = count == 0 ? 0 : x.numel() / count;
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    using Result = decltype(f(Row<T>{}));
    Tensor result = Tensor::empty(std::is_same_v<Result, double> ? DType::f64 : DType::i64, out.shape());
    for (std::int64_t i = 0; i < count; ++i)
      result.mutable_data<Result>()[i] =
          f(Row<T>(rows.data<T>() + i * length, static_cast<std::size_t>(length)));
    out.copy_from(result);
  });
}

// Each row replaced by one of the same length.
template <class F>
void map_rows(const Tensor& x, std::int64_t axis, Tensor& out, F&& f) {
  const Axes order = moved_last(x.rank(), {axis});
  Tensor rows = widened(x.permute(order)).clone();
  const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    for (std::int64_t i = 0; i < x.numel(); i += length)
      f(std::span<T>(rows.mutable_data<T>() + i, static_cast<std::size_t>(length)));
  });
  out.copy_from(rows.permute(inverse(order)));
}

constexpr auto total = []<class T>(Row<T> row) {
  T sum = 0;
  for (const T v : row) sum = apply(Prim::add, sum, v);
  return sum;
};

constexpr auto product = []<class T>(Row<T> row) {
  T result = 1;
  for (const T v : row) result = apply(Prim::mul, result, v);
  return result;
};

// Position of the first largest (sign 1) or smallest (sign -1); the first NaN wins.
template <class T>
std::int64_t extreme_place(Row<T> row, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < row.size() && !is_nan(row[best]); ++i)
    if (is_nan(row[i]) || (largest ? row[i] > row[best] : row[i] < row[best])) best = i;
  return static_cast<std::int64_t>(best);
}

// The best element so far of each row and its place: of equal ones the last; NaN is better than every number.
template <class Better>
void running_best(const Tensor& x, std::int64_t axis, OutSpan out, Better better) {
  const Axes order = moved_last(x.rank(), {axis});
  Tensor rows = widened(x.permute(order)).clone();
  Tensor places = Tensor::empty(DType::i64, rows.shape());
  const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    T* value = rows.mutable_data<T>();
    auto* place = places.mutable_data<std::int64_t>();
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const bool kept =
          i % length != 0 && !is_nan(value[i]) && (is_nan(value[i - 1]) || better(value[i - 1], value[i]));
      place[i] = kept ? place[i - 1] : i % length;
      if (kept) value[i] = value[i - 1];
    }
  });
  out[0].copy_from(rows.permute(inverse(order)));
  out[1].copy_from(places.permute(inverse(order)));
}

double log_of_sum(double a, double b) {
  const double high = std::max(a, b), low = std::min(a, b);
  if (std::isnan(a) || std::isnan(b)) return a + b;
  return low == high && std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

}  // namespace

void Sum::reference(InSpan in, OutSpan out) const { each_row(in[0], axes, out[0], total); }
void Prod::reference(InSpan in, OutSpan out) const { each_row(in[0], axes, out[0], product); }

void Mean::reference(InSpan in, OutSpan out) const {
  each_row(in[0], axes, out[0], []<class T>(Row<T> row) {
    return static_cast<double>(total(row)) / static_cast<double>(row.size());
  });
}

void Amax::reference(InSpan in, OutSpan out) const {
  each_row(in[0], axes, out[0],
           []<class T>(Row<T> row) { return row[static_cast<std::size_t>(extreme_place(row, true))]; });
}
void Amin::reference(InSpan in, OutSpan out) const {
  each_row(in[0], axes, out[0],
           []<class T>(Row<T> row) { return row[static_cast<std::size_t>(extreme_place(row, false))]; });
}

void Any::reference(InSpan in, OutSpan out) const {
  each_row(in[0], axes, out[0], []<class T>(Row<T> row) {
    for (const T v : row)
      if (v != 0) return std::int64_t{1};
    return std::int64_t{0};
  });
}
void All::reference(InSpan in, OutSpan out) const {
  each_row(in[0], axes, out[0], []<class T>(Row<T> row) {
    for (const T v : row)
      if (v == 0) return std::int64_t{0};
    return std::int64_t{1};
  });
}

void ArgMax::reference(InSpan in, OutSpan out) const {
  each_row(in[0], {axis}, out[0], []<class T>(Row<T> row) { return extreme_place(row, true); });
}
void ArgMin::reference(InSpan in, OutSpan out) const {
  each_row(in[0], {axis}, out[0], []<class T>(Row<T> row) { return extreme_place(row, false); });
}

void CumSum::reference(InSpan in, OutSpan out) const {
  map_rows(in[0], axis, out[0], []<class T>(std::span<T> row) {
    for (std::size_t i = 1; i < row.size(); ++i) row[i] = apply(Prim::add, row[i - 1], row[i]);
  });
}
void CumProd::reference(InSpan in, OutSpan out) const {
  map_rows(in[0], axis, out[0], []<class T>(std::span<T> row) {
    for (std::size_t i = 1; i < row.size(); ++i) row[i] = apply(Prim::mul, row[i - 1], row[i]);
  });
}

void CumMax::reference(InSpan in, OutSpan out) const {
  running_best(in[0], axis, out, [](auto before, auto now) { return before > now; });
}
void CumMin::reference(InSpan in, OutSpan out) const {
  running_best(in[0], axis, out, [](auto before, auto now) { return before < now; });
}
void LogCumSumExp::reference(InSpan in, OutSpan out) const {
  map_rows(in[0], axis, out[0], []<class T>(std::span<T> row) {
    for (std::size_t i = 1; i < row.size(); ++i)
      row[i] = static_cast<T>(log_of_sum(static_cast<double>(row[i - 1]), static_cast<double>(row[i])));
  });
}

}  // namespace tenon
