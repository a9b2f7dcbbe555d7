// Reductions of every kind on the types that are folded. Built once per ISA; the float ones that matter have
// forms of their own (loop_simd_folds.h).
#include "base/fold.h"
#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/loop_row_folds.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// K is a Fold of elements of type T.
template <class K>
void init(void* accumulators, long n) {
  auto* acc = static_cast<typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) acc[i] = K::identity();
}

/// How many parts are folded beside each other: vectors, whose latency does not count. The same for all ISAs,
/// and so are the results.
template <class T>
constexpr long chains = sizeof(T) < 4 ? 128 / sizeof(T) : 32;
/// Of a row, as wide as an element.
template <class T>
using PlaceBeside = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
/// The place in a row, which begins at `index`, of what the elements that fill the chains fold to; says where
/// they end.
template <class K, class T>
TENON_INLINE long find_in_chains(typename K::Acc& acc, const T* row, long cols, long index) {
  using Place = PlaceBeside<T>;
  constexpr long n = chains<T>;
  if (cols < n) return 0;
  T best[n];
  Place at[n];
  for (long i = 0; i < n; ++i) best[i] = K::identity().best;
  for (long i = 0; i < n; ++i) at[i] = -1;
  long c = 0;
  for (; c + n <= cols; c += n)
    for (long i = 0; i < n; ++i) {
      const bool kept = K::keeps(best[i], row[c + i]);
      best[i] = kept ? best[i] : row[c + i];
      at[i] = kept ? at[i] : static_cast<Place>(c + i);
    }
  long first = -1;  // the chain with the best element, the first of equal ones
  for (long i = 0; i < n; ++i) {
    if (at[i] < 0) continue;
    const bool loses = first >= 0 && K::keeps(best[first], best[i]);
    const bool ties = loses && K::keeps(best[i], best[first]);
    if (!loses || (ties && at[i] < at[first])) first = i;
  }
  if (first >= 0) K::fold(acc, best[first], index + at[first]);
  return c;
}

template <Reduce R, class T>
void fold_rows(void* accumulators, const OpArgs& args, long index) {
  if constexpr (info(R).kind != ReduceKind::position) {
    fold_rows_on_vectors<R, T>(accumulators, args, index);
  } else {
    using K = Fold<R, T>;
    const OpArgs tile = args;  // what is written may not lie here
    auto* all = static_cast<typename K::Acc*>(accumulators);
    for (long r = 0; r < tile.rows; ++r) {
      const auto* row = static_cast<const T*>(tile.in[0]) + r * tile.in_pitch[0];
      typename K::Acc acc = all[r];
      for (long c = find_in_chains<K>(acc, row, tile.cols, index); c < tile.cols; ++c)
        K::fold(acc, row[c], index + c);
      all[r] = acc;
    }
  }
}

/// of(element) is what is folded.
template <class K, class T, class Of>
TENON_INLINE void fold_columns_of(void* accumulators, const OpArgs& args, long index, Of of) {
  const OpArgs tile = args;
  auto* __restrict acc = static_cast<typename K::Acc*>(accumulators);
  const auto* const data = static_cast<const T*>(tile.in[0]);
  long first = 0;
  if constexpr (sizeof(typename K::Acc) <= 8) {  // as many columns as registers hold
    constexpr long n = chains<T>;
    for (; first + n <= tile.cols; first += n) {
      typename K::Acc parts[n];
      for (long i = 0; i < n; ++i) parts[i] = acc[first + i];
      for (long r = 0; r < tile.rows; ++r)
        for (long i = 0; i < n; ++i) K::fold(parts[i], of(data[r * tile.in_pitch[0] + first + i]), 0);
      for (long i = 0; i < n; ++i) acc[first + i] = parts[i];
    }
  }
  for (long r = 0; r < tile.rows; ++r)
    for (long c = first; c < tile.cols; ++c) K::fold(acc[c], of(data[r * tile.in_pitch[0] + c]), index + r);
}
/// Places of extremes in so many columns at once; returns the first column that is not done.
template <class K, class T, long Columns>
TENON_INLINE long find_in_columns(typename K::Acc* acc, const OpArgs& tile, long first, long index) {
  for (; first + Columns <= tile.cols; first += Columns) {
    T best[Columns];
    PlaceBeside<T> at[Columns];  // the row
    for (long i = 0; i < Columns; ++i) best[i] = acc[first + i].best;
    for (long i = 0; i < Columns; ++i) at[i] = -1;
    const auto* row = static_cast<const T*>(tile.in[0]) + first;
    for (long r = 0; r < tile.rows; ++r, row += tile.in_pitch[0])
      for (long i = 0; i < Columns; ++i) {
        const bool kept = K::keeps(best[i], row[i]);
        best[i] = kept ? best[i] : row[i];
        at[i] = kept ? at[i] : static_cast<PlaceBeside<T>>(r);
      }
    for (long i = 0; i < Columns; ++i) acc[first + i].best = best[i];
    for (long i = 0; i < Columns; ++i)
      if (at[i] >= 0) acc[first + i].index = index + at[i];
  }
  return first;
}

template <Reduce R, class T>
void fold_columns(void* accumulators, const OpArgs& args, long index) {
  using K = Fold<R, T>;
  // An i64 and its place are folded as a pair.
  if constexpr (info(R).kind != ReduceKind::position || std::is_same_v<T, std::int64_t>) {
    fold_columns_of<K, T>(accumulators, args, index, [](T x) { return x; });
  } else {
    const OpArgs tile = args;  // what is written may not lie here
    auto* const acc = static_cast<typename K::Acc*>(accumulators);
    long first = find_in_columns<K, T, 32>(acc, tile, 0, index);
    first = find_in_columns<K, T, 8>(acc, tile, first, index);
    if (tile.cols >= 8 && first < tile.cols) first = tile.cols - 8;  // some twice, which changes nothing
    first = find_in_columns<K, T, 8>(acc, tile, first, index);
    find_in_columns<K, T, 1>(acc, tile, first, index);
  }
}

using DoubleSum = Fold<Reduce::sum, double>;
void fold_columns_squares(void* accumulators, const OpArgs& args, long index) {
  fold_columns_of<DoubleSum, double>(accumulators, args, index, [](double x) { return x * x; });
}

template <class K>
void finish(void* out, const void* accumulators, long n) {
  const auto* acc = static_cast<const typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) static_cast<typename K::Result*>(out)[i] = K::result(acc[i]);
}

template <Reduce R, class T>
constexpr ReduceOps ops() {
  using K = Fold<R, T>;
  return {sizeof(typename K::Acc), &init<K>, &fold_rows<R, T>, &fold_columns<R, T>, &finish<K>};
}
template <class T>
ReduceOps ops_of(Reduce kind) {
  ReduceOps found;
  dispatch_fold<T>(kind, [&]<Reduce R>(Fold<R, T>) { found = ops<R, T>(); });
  return found;
}
/// A sum that wraps around in the type of its elements.
template <class T>
struct WrappedSum {
  using Acc = T;
  using Result = T;
  static T identity() { return 0; }
  static TENON_INLINE void fold(T& acc, T x, long) { acc = apply<T>(Prim::add, acc, x); }
  static T result(T acc) { return acc; }
};
template <class T>
ReduceOps wrapped_sums() {
  using K = WrappedSum<T>;
  const auto columns = [](void* acc, const OpArgs& tile, long index) {
    fold_columns_of<K, T>(acc, tile, index, [](T x) { return x; });
  };
  return {sizeof(T), &init<K>, &fold_rows_on_vectors<Reduce::sum, T, Folded::elements, K>, columns,
          &finish<K>};
}
template <class T>
ReduceOps products_of(ReduceOps sums) {
  sums.fold_rows = &fold_rows_on_vectors<Reduce::sum, T, Folded::products>;
  sums.fold_columns = nullptr;
  return sums;
}
template <class T>
ReduceOps wrapped_products() {
  ReduceOps sums = wrapped_sums<T>();
  sums.fold_rows = &fold_rows_on_vectors<Reduce::sum, T, Folded::products, WrappedSum<T>>;
  sums.fold_columns = nullptr;
  return sums;
}
/// Integers that are held in fewer than 32 bits have extremes alone.
template <class T>
ReduceOps extremes_of(Reduce kind) {
  if (kind == Reduce::min) return ops<Reduce::min, T>();
  if (kind == Reduce::max) return ops<Reduce::max, T>();
  return {};
}

}  // namespace

ReduceOps loop_fold_squares_of_f64() {
  ReduceOps sums = ops<Reduce::sum, double>();
  sums.fold_rows = &fold_rows_on_vectors<Reduce::sum, double, Folded::squares>;
  sums.fold_columns = &fold_columns_squares;
  return sums;
}
ReduceOps loop_fold_squared_differences_of_f64() {
  ReduceOps sums = ops<Reduce::sum, double>();
  sums.fold_rows = &fold_rows_on_vectors<Reduce::sum, double, Folded::squared_differences>;
  sums.fold_columns = nullptr;
  return sums;
}

ReduceOps loop_fold_wrapped(DType type) {
  switch (type) {
    case DType::u8: return wrapped_sums<std::uint8_t>();
    case DType::i8: return wrapped_sums<std::int8_t>();
    case DType::i16: return wrapped_sums<std::int16_t>();
    default: return wrapped_sums<std::int32_t>();
  }
}
ReduceOps loop_fold_products(DType type) {
  switch (type) {
    case DType::f64: return products_of<double>(ops<Reduce::sum, double>());
    case DType::i64: return products_of<std::int64_t>(ops<Reduce::sum, std::int64_t>());
    case DType::u8: return wrapped_products<std::uint8_t>();
    case DType::i8: return wrapped_products<std::int8_t>();
    case DType::i16: return wrapped_products<std::int16_t>();
    default: return wrapped_products<std::int32_t>();
  }
}

ReduceOps loop_fold_ops(Reduce kind, DType type) {
  switch (type) {
    case DType::boolean: return ops_of<std::uint8_t>(kind);
    case DType::u8: return extremes_of<std::uint8_t>(kind);
    case DType::i8: return extremes_of<std::int8_t>(kind);
    case DType::i16: return extremes_of<std::int16_t>(kind);
    case DType::f64: return ops_of<double>(kind);
    case DType::i32: return ops_of<std::int32_t>(kind);
    case DType::i64: return ops_of<std::int64_t>(kind);
    case DType::f32: return ops_of<float>(kind);
    default: return {};
  }
}

}  // namespace tenon::cpu::TENON_ISA
