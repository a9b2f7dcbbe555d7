// Reductions of every kind on the types that are folded. Built once per ISA; the float ones that matter have
// forms of their own (loop_simd_folds.h).
#include "base/fold.h"
#include "kernels/cpu/loop_double_folds.h"
#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/simd.h"

namespace tenon::cpu::TENON_ISA {
namespace {

// K is a Fold of elements of type T.
template <class K>
void init(void* accumulators, long n) {
  auto* acc = static_cast<typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) acc[i] = K::identity();
}

/// How many parts of a row are folded beside each other: vectors, whose latency does not count. The same for
/// all ISAs, and so are the results.
template <class T>
constexpr long chains = sizeof(T) < 4 ? 128 / sizeof(T) : 32;
/// Integers fold in any order: as many as registers hold.
template <class T>
constexpr long chains_of_row = std::is_same_v<T, std::int64_t> ? 2 * VL : chains<T>;

/// Folds the parts into the first one: pairs, as far apart as there are parts left.
template <class K, long n, class Acc>
TENON_INLINE void fold_halves(Acc* parts) {
  if constexpr (n > 1) {
    for (long i = 0; i < n / 2; ++i) K::fold(parts[i], parts[i + n / 2], 0);
    fold_halves<K, n / 2>(parts);
  }
}
/// Folds elements of a row from c on, as many as fill n chains, and says where it ended. at(c) is element c.
template <Reduce R, class T, long n, class At>
TENON_INLINE long fold_chains(typename Fold<R, T>::Acc& acc, long c, long cols, At at) {
  using K = Fold<R, T>;
  using Acc = typename K::Acc;
  if (cols - c < n) return c;
  Acc parts[n];
  for (long i = 0; i < n; ++i) parts[i] = K::identity();
  for (; c + n <= cols; c += n)
    for (long i = 0; i < n; ++i) K::fold(parts[i], at(c + i), 0);
  fold_halves<Fold<R, Acc>, n>(parts);
  Fold<R, Acc>::fold(acc, parts[0], 0);
  return c;
}
/// The same of a place in the row, which begins at `index`, from its start on.
template <class K, class T>
TENON_INLINE long find_in_chains(typename K::Acc& acc, const T* row, long cols, long index) {
  using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
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
void fold_row_chains(void* accumulators, const OpArgs& tile) {
  auto* const all = static_cast<typename Fold<R, T>::Acc*>(accumulators);
  for (long r = 0; r < tile.rows; ++r) {
    const auto* row = static_cast<const T*>(tile.in[0]) + r * tile.in_pitch[0];
    const auto at = [row](long c) { return row[c]; };
    auto acc = all[r];
    long c = fold_chains<R, T, chains_of_row<T>>(acc, 0, tile.cols, at);
    c = fold_chains<R, T, 4>(acc, c, tile.cols, at);
    for (; c < tile.cols; ++c) Fold<R, T>::fold(acc, at(c), 0);
    all[r] = acc;
  }
}
template <Reduce R, class T>
void fold_rows(void* accumulators, const OpArgs& args, long index) {
  const OpArgs tile = args;  // what is written may not lie here
  if constexpr (std::is_same_v<T, double> && info(R).kind != ReduceKind::position) {
    fold_rows_of_doubles<R, false, false>(accumulators, tile, index);
  } else if constexpr (info(R).kind != ReduceKind::position) {
    fold_row_chains<R, T>(accumulators, tile);
  } else {
    using K = Fold<R, T>;
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
template <class K, class T>
void fold_columns(void* accumulators, const OpArgs& args, long index) {
  fold_columns_of<K, T>(accumulators, args, index, [](T x) { return x; });
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
  return {sizeof(typename K::Acc), &init<K>, &fold_rows<R, T>, &fold_columns<K, T>, &finish<K>};
}
template <class T>
ReduceOps ops_of(Reduce kind) {
  ReduceOps found;
  dispatch_fold<T>(kind, [&]<Reduce R>(Fold<R, T>) { found = ops<R, T>(); });
  return found;
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
  sums.fold_rows = &fold_rows_of_doubles<Reduce::sum, true, false>;
  sums.fold_columns = &fold_columns_squares;
  return sums;
}
ReduceOps loop_fold_squared_differences_of_f64() {
  ReduceOps sums = ops<Reduce::sum, double>();
  sums.fold_rows = &fold_rows_of_doubles<Reduce::sum, true, true>;
  sums.fold_columns = nullptr;
  return sums;
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
