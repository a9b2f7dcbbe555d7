// The folds that reductions are made of: their names, what each one folds and gives, and what it means.
#pragma once
#include "base/scalar.h"

namespace tenon {

/// Every fold of a row of elements into one value. NaN wins in min, max, argmin and argmax; argmin and argmax
/// give the position of the first extreme element. Of an empty row: sum 0, prod 1, min and max the largest
/// and smallest value of the type (±inf), any false, all true, argmin and argmax 0.
enum class Reduce : std::uint8_t { sum, prod, min, max, any, all, argmin, argmax };

/// What a fold accepts and returns.
enum class ReduceKind : std::uint8_t {
  number,    // numbers; the result has their type
  truth,     // bools; the result is a bool
  position,  // numbers; the result is an i64: a place in the row
};

struct ReduceInfo {
  Reduce reduce;
  std::string_view name;
  ReduceKind kind;
  bool picks;  // one of the elements, by their order: an operator refuses rows without elements
};

inline constexpr std::array reduce_table = {
    ReduceInfo{Reduce::sum, "sum", ReduceKind::number, false},
    ReduceInfo{Reduce::prod, "prod", ReduceKind::number, false},
    ReduceInfo{Reduce::min, "min", ReduceKind::number, true},
    ReduceInfo{Reduce::max, "max", ReduceKind::number, true},
    ReduceInfo{Reduce::any, "any", ReduceKind::truth, false},
    ReduceInfo{Reduce::all, "all", ReduceKind::truth, false},
    ReduceInfo{Reduce::argmin, "argmin", ReduceKind::position, true},
    ReduceInfo{Reduce::argmax, "argmax", ReduceKind::position, true},
};
inline constexpr std::size_t reduce_count = reduce_table.size();

constexpr bool reduce_table_in_order() {
  for (std::size_t i = 0; i < reduce_count; ++i)
    if (static_cast<std::size_t>(reduce_table[i].reduce) != i) return false;
  return true;
}
static_assert(reduce_table_in_order());

constexpr const ReduceInfo& info(Reduce r) { return reduce_table[static_cast<std::size_t>(r)]; }
constexpr std::string_view name(Reduce r) { return info(r).name; }

namespace reduce_detail {

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

template <class T>
struct OfValues {
  using Result = T;
  using Acc = T;
  static Result result(const Acc& acc) { return acc; }
};

/// Keeps the digits of long rows of floats.
template <class T>
struct InDouble {
  using Result = T;
  using Acc = std::conditional_t<std::is_same_v<T, float>, double, T>;
  static Result result(const Acc& acc) { return static_cast<T>(acc); }
};

template <class T, bool Largest>
struct Position {
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

}  // namespace reduce_detail

/// What a fold means on elements of type T (float, double or int64_t; uint8_t for bools): the accumulator
/// `Acc`, its `identity()`, how an element at a place of the row enters it (`fold`), and the `Result` that
/// comes out.
template <Reduce R, class T>
struct Fold;

template <class T>
struct Fold<Reduce::sum, T> : reduce_detail::InDouble<T> {
  using Acc = typename reduce_detail::InDouble<T>::Acc;
  static Acc identity() { return 0; }
  static void fold(Acc& acc, T x, long) { acc = apply<Acc>(Prim::add, acc, x); }
};
template <class T>
struct Fold<Reduce::prod, T> : reduce_detail::InDouble<T> {
  using Acc = typename reduce_detail::InDouble<T>::Acc;
  static Acc identity() { return 1; }
  static void fold(Acc& acc, T x, long) { acc = apply<Acc>(Prim::mul, acc, x); }
};
template <class T>
struct Fold<Reduce::min, T> : reduce_detail::OfValues<T> {
  static T identity() { return reduce_detail::highest<T>(); }
  static void fold(T& acc, T x, long) { acc = apply<T>(Prim::min, acc, x); }
};
template <class T>
struct Fold<Reduce::max, T> : reduce_detail::OfValues<T> {
  static T identity() { return reduce_detail::lowest<T>(); }
  static void fold(T& acc, T x, long) { acc = apply<T>(Prim::max, acc, x); }
};
template <class T>
struct Fold<Reduce::any, T> : reduce_detail::OfValues<T> {
  static T identity() { return 0; }
  static void fold(T& acc, T x, long) { acc |= x; }
};
template <class T>
struct Fold<Reduce::all, T> : reduce_detail::OfValues<T> {
  static T identity() { return 1; }
  static void fold(T& acc, T x, long) { acc &= x; }
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
