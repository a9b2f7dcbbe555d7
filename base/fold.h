// What the folds of base/reduce.h mean.
#pragma once
#include <limits>
#include <type_traits>
#include <utility>

#include "base/reduce.h"
#include "base/scalar.h"

namespace tenon {

namespace reduce_detail {

template <class T>
TENON_SCALAR constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>) return -std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::lowest();
}
template <class T>
TENON_SCALAR constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::infinity();
  return std::numeric_limits<T>::max();
}

template <class T>
struct OfValues {
  using Result = T;
  using Acc = T;
  TENON_SCALAR static Result result(const Acc& acc) { return acc; }
};

/// Keeps the digits of long rows: floats in double, integers in 64 bits.
template <class T>
struct Wide {
  using Acc = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
  using Result = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
  TENON_SCALAR static Result result(const Acc& acc) { return static_cast<Result>(acc); }
};

template <class T, bool Largest>
struct Position {
  using Result = std::int64_t;
  struct Acc {
    T best;
    std::int64_t index;
  };
  TENON_SCALAR static Acc identity() { return {Largest ? lowest<T>() : highest<T>(), -1}; }
  /// Does `best` stay when x comes after it? The first NaN stays.
  TENON_SCALAR static bool keeps(T best, T x) {
    return int(Largest ? x <= best : x >= best) | int(best != best);
  }
  TENON_SCALAR static void fold(Acc& acc, T x, long index) {
    const bool kept = keeps(acc.best, x);
    acc.best = kept ? acc.best : x;  // without a branch: which one is better is not to be foreseen
    acc.index = kept ? acc.index : index;
  }
  /// None was better than the identity: all are equal to it.
  TENON_SCALAR static Result result(const Acc& acc) { return acc.index < 0 ? 0 : acc.index; }
};

}  // namespace reduce_detail

/// What a fold means on elements of type T (float, double, int32_t or int64_t; uint8_t for bools): the
/// accumulator `Acc`, its `identity()`, how an element at a place of the row enters it (`fold`), and the
/// `Result` that comes out.
template <Reduce R, class T>
struct Fold;

template <class T>
struct Fold<Reduce::sum, T> : reduce_detail::Wide<T> {
  using Acc = typename reduce_detail::Wide<T>::Acc;
  TENON_SCALAR static Acc identity() { return 0; }
  TENON_SCALAR static void fold(Acc& acc, T x, long) { acc = apply<Acc>(Prim::add, acc, x); }
};
template <class T>
struct Fold<Reduce::prod, T> : reduce_detail::Wide<T> {
  using Acc = typename reduce_detail::Wide<T>::Acc;
  TENON_SCALAR static Acc identity() { return 1; }
  TENON_SCALAR static void fold(Acc& acc, T x, long) { acc = apply<Acc>(Prim::mul, acc, x); }
};
template <class T>
struct Fold<Reduce::min, T> : reduce_detail::OfValues<T> {
  TENON_SCALAR static T identity() { return reduce_detail::highest<T>(); }
  TENON_SCALAR static void fold(T& acc, T x, long) { acc = apply<T>(Prim::min, acc, x); }
};
template <class T>
struct Fold<Reduce::max, T> : reduce_detail::OfValues<T> {
  TENON_SCALAR static T identity() { return reduce_detail::lowest<T>(); }
  TENON_SCALAR static void fold(T& acc, T x, long) { acc = apply<T>(Prim::max, acc, x); }
};
template <class T>
struct Fold<Reduce::any, T> : reduce_detail::OfValues<T> {
  TENON_SCALAR static T identity() { return 0; }
  TENON_SCALAR static void fold(T& acc, T x, long) { acc |= x; }
};
template <class T>
struct Fold<Reduce::all, T> : reduce_detail::OfValues<T> {
  TENON_SCALAR static T identity() { return 1; }
  TENON_SCALAR static void fold(T& acc, T x, long) { acc &= x; }
};
template <class T>
struct Fold<Reduce::argmin, T> : reduce_detail::Position<T, false> {};
template <class T>
struct Fold<Reduce::argmax, T> : reduce_detail::Position<T, true> {};

/// Calls f(Fold<r, T>{}) for elements of type T (uint8_t: those that take bools; other types: the others).
template <class T, class F>
void dispatch_fold(Reduce r, F&& f) {
  const auto one = [&]<Reduce R>() {
    if constexpr ((info(R).kind == ReduceKind::truth) == std::is_same_v<T, std::uint8_t>)
      if (r == R) f(Fold<R, T>{});
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (one.template operator()<static_cast<Reduce>(I)>(), ...);
  }
  (std::make_index_sequence<reduce_count>{});
}

}  // namespace tenon
