// Reductions of every kind on every compute type. Built once; the float ones that matter have SIMD forms.
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/error.h"
#include "kernels/cpu/loop_ops.h"

namespace tenon::cpu {
namespace {

template <class T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}
template <class T>
constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

// One struct a kind: the accumulator, its identity, how a value enters it, and what comes out.
template <class T>
struct Sum {
  using Value = T;
  using Result = T;
  using Acc = std::conditional_t<std::is_same_v<T, float>, double, T>;  // keeps the digits of long float rows
  static Acc identity() { return 0; }
  static void fold(Acc& acc, T x, long) { acc = apply<Acc>(Prim::add, acc, x); }
  static T result(const Acc& acc) { return static_cast<T>(acc); }
};
template <class T>
struct Prod {
  using Value = T;
  using Result = T;
  using Acc = typename Sum<T>::Acc;
  static Acc identity() { return 1; }
  static void fold(Acc& acc, T x, long) { acc = apply<Acc>(Prim::mul, acc, x); }
  static T result(const Acc& acc) { return static_cast<T>(acc); }
};
template <class T>
struct Min {
  using Value = T;
  using Result = T;
  using Acc = T;
  static Acc identity() { return highest<T>(); }
  static void fold(Acc& acc, T x, long) { acc = apply<T>(Prim::min, acc, x); }
  static T result(const Acc& acc) { return acc; }
};
template <class T>
struct Max {
  using Value = T;
  using Result = T;
  using Acc = T;
  static Acc identity() { return lowest<T>(); }
  static void fold(Acc& acc, T x, long) { acc = apply<T>(Prim::max, acc, x); }
  static T result(const Acc& acc) { return acc; }
};
struct Any {
  using Value = std::uint8_t;
  using Result = std::uint8_t;
  using Acc = std::uint8_t;
  static Acc identity() { return 0; }
  static void fold(Acc& acc, Value x, long) { acc |= x; }
  static Result result(const Acc& acc) { return acc; }
};
struct All {
  using Value = std::uint8_t;
  using Result = std::uint8_t;
  using Acc = std::uint8_t;
  static Acc identity() { return 1; }
  static void fold(Acc& acc, Value x, long) { acc &= x; }
  static Result result(const Acc& acc) { return acc; }
};
template <class T, bool Largest>
struct Position {
  using Value = T;
  using Result = std::int64_t;
  struct Acc {
    T best;
    std::int64_t index;
  };
  static Acc identity() { return {Largest ? lowest<T>() : highest<T>(), -1}; }
  static void fold(Acc& acc, T x, long index) {
    bool better = Largest ? x > acc.best : x < acc.best;
    if constexpr (std::is_floating_point_v<T>)
      better = (better && !std::isnan(acc.best)) || (std::isnan(x) && !std::isnan(acc.best));
    if (better || acc.index < 0) acc = {x, index};
  }
  static Result result(const Acc& acc) { return acc.index < 0 ? 0 : acc.index; }
};

template <class K>
void init(void* accumulators, long n) {
  auto* acc = static_cast<typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) acc[i] = K::identity();
}
template <class K>
void fold_rows(void* accumulators, const OpArgs& tile, long index) {
  auto* all = static_cast<typename K::Acc*>(accumulators);
  for (long r = 0; r < tile.rows; ++r) {
    const auto* row = static_cast<const typename K::Value*>(tile.in[0]) + r * tile.in_pitch[0];
    typename K::Acc acc = all[r];
    for (long c = 0; c < tile.cols; ++c) K::fold(acc, row[c], index + c);
    all[r] = acc;
  }
}
template <class K>
void fold_columns(void* accumulators, const OpArgs& tile, long index) {
  auto* acc = static_cast<typename K::Acc*>(accumulators);
  for (long r = 0; r < tile.rows; ++r) {
    const auto* row = static_cast<const typename K::Value*>(tile.in[0]) + r * tile.in_pitch[0];
    for (long c = 0; c < tile.cols; ++c) K::fold(acc[c], row[c], index + r);
  }
}
template <class K>
void finish(void* out, const void* accumulators, long n) {
  const auto* acc = static_cast<const typename K::Acc*>(accumulators);
  for (long i = 0; i < n; ++i) static_cast<typename K::Result*>(out)[i] = K::result(acc[i]);
}

template <class K>
ReduceOps ops() {
  return {sizeof(typename K::Acc), &init<K>, &fold_rows<K>, &fold_columns<K>, &finish<K>};
}

template <class T>
ReduceOps number_ops(Reduce kind) {
  switch (kind) {
    case Reduce::sum: return ops<Sum<T>>();
    case Reduce::prod: return ops<Prod<T>>();
    case Reduce::min: return ops<Min<T>>();
    case Reduce::max: return ops<Max<T>>();
    case Reduce::argmin: return ops<Position<T, false>>();
    default: return ops<Position<T, true>>();
  }
}

}  // namespace

ReduceOps reduce_ops(Reduce kind, DType type) {
  if (kind == Reduce::any) return ops<Any>();
  if (kind == Reduce::all) return ops<All>();
  if (type == DType::f64) return number_ops<double>(kind);
  if (type == DType::i64) return number_ops<std::int64_t>(kind);
  TENON_CHECK(type == DType::f32);
  ReduceOps result = number_ops<float>(kind);
  const SimdOps& simd = simd_ops();
  if (kind == Reduce::sum) {
    result.fold_rows = simd.fold_rows_sum;
    result.fold_columns = simd.fold_columns_sum;
  }
  if (kind == Reduce::max) result.fold_rows = simd.fold_rows_max;
  if (kind == Reduce::min) result.fold_rows = simd.fold_rows_min;
  return result;
}

ReduceOps reduce_squares_ops() {
  ReduceOps result = number_ops<float>(Reduce::sum);
  result.fold_rows = simd_ops().fold_rows_sum_squares;
  result.fold_columns = simd_ops().fold_columns_sum_squares;
  return result;
}

ReduceOps reduce_squared_differences_ops() {
  ReduceOps result = number_ops<float>(Reduce::sum);
  result.fold_rows = simd_ops().fold_rows_sum_squared_differences;
  result.fold_columns = nullptr;
  return result;
}

}  // namespace tenon::cpu
