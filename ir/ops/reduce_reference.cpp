// References of the reductions and of running sums.
#include <cmath>

#include "base/fold.h"
#include "ir/ops/functions.h"
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

// Folds each row of `length` elements into an element of out.
template <Reduce R, class E, class T>
void fold_rows(Fold<R, E>, std::span<const T> rows, std::size_t length, bool averages, Tensor& out) {
  using Result = typename Fold<R, E>::Result;
  using Wide = std::conditional_t<std::is_floating_point_v<Result>, double, std::int64_t>;
  Tensor results = Tensor::empty(std::is_same_v<Wide, double> ? DType::f64 : DType::i64, out.shape());
  Wide* const result = results.mutable_data<Wide>();
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::span<const T> row = rows.subspan(static_cast<std::size_t>(i) * length, length);
    auto total = Fold<R, E>::identity();
    for (std::size_t k = 0; k < length; ++k)
      Fold<R, E>::fold(total, std::is_same_v<E, T> ? static_cast<E>(row[k]) : static_cast<E>(row[k] != 0),
                       static_cast<long>(k));
    result[i] = Fold<R, E>::result(total);
    if constexpr (std::is_same_v<Wide, double>)
      if (averages) result[i] /= static_cast<double>(length);
  }
  out.copy_from(results);
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

// The reduced axes are moved to the end, and each row is folded.
void reduce(const Tensor& x, const Reduction& r, Tensor& out) {
  const Tensor rows = widened(x.permute(moved_last(x.rank(), r.axes)));
  const auto count = static_cast<std::size_t>(out.numel());
  const std::size_t length = count == 0 ? 0 : static_cast<std::size_t>(x.numel()) / count;
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    const std::span<const T> all(rows.data<T>(), count * length);
    if (info(r.fold).kind == ReduceKind::truth)
      dispatch_fold<std::uint8_t>(r.fold, [&](auto fold) { fold_rows(fold, all, length, r.averages, out); });
    else
      dispatch_fold<T>(r.fold, [&](auto fold) { fold_rows(fold, all, length, r.averages, out); });
  });
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
