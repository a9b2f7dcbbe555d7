// What the instructions of a loop do to values: primitives by name, conversions, gathers' indices, folds.
#pragma once
#include "base/prim_meaning.h"
#include "kernels/gpu/prelude.gpu.h"

namespace tenon {
namespace scalar_detail {

// exp_of(a), add_of(a, b), ...: each primitive as a function of floats and of integers.
// clang-format off
#define PRIM_NUMBER(p, n, of_float, of_int, ...)                                                        \
  template <class T> TENON_SCALAR_INLINE T p##_of(T a, T b = T(0)) { return in_its_type<T>(of_float); } \
  TENON_SCALAR_INLINE Int p##_of(Int a, Int b = 0) { return of_int; }
#define PRIM_REAL(p, n, of_float, ...)                                                                  \
  template <class T> TENON_SCALAR_INLINE T p##_of(T a, T b = T(0)) { return in_its_type<T>(of_float); }
#define PRIM_TEST(p, n, of_float, of_int)                                                   \
  template <class T> TENON_SCALAR_INLINE bool p##_of(T a, T b = T(0)) { return of_float; } \
  TENON_SCALAR_INLINE bool p##_of(Int a, Int b = 0) { return of_int; }
#define PRIM_BITS(p, n, of_int) TENON_SCALAR_INLINE Int p##_of(Int a, Int b = 0) { return of_int; }
// clang-format on
#include "base/prims.def"

}  // namespace scalar_detail

namespace gpu {

using namespace scalar_detail;

// Conversions, as tenon::convert (base/scalar.h): to bool "not zero"; floats that do not fit an integer
// become the most negative one of 64 bits (i64, u64, u32) or of 32 bits (the others), which is then cut.

template <class To, class From>
GPU_INLINE To truncated(From x) {
  constexpr bool wide = sizeof(To) == 8 || same<To, unsigned>;
  constexpr From bound = wide ? From(9223372036854775808.0) : From(2147483648.0);
  const bool fits = x >= -bound && x < bound;
  if (wide) return static_cast<To>(fits ? static_cast<Int>(x) : wrap(Bits(1) << 63));
  return static_cast<To>(fits ? static_cast<int>(x) : static_cast<int>(0x80000000u));
}

template <class From>
GPU_INLINE From number(From x) {
  return x;
}
GPU_INLINE float number(half x) { return to_float(x); }
GPU_INLINE float number(bfloat16 x) { return to_float(x); }
template <int Mantissa, int Bias, unsigned Largest, unsigned Beyond, unsigned Nan>
GPU_INLINE float number(float8<Mantissa, Bias, Largest, Beyond, Nan> x) {
  return to_float(x);
}

template <class To>
struct Conversion {
  template <class From>
  static GPU_INLINE To of(From x) {
    return static_cast<To>(x);
  }
  static GPU_INLINE To of(float x) { return truncated<To>(x); }
  static GPU_INLINE To of(double x) { return truncated<To>(x); }
};
template <class To>
struct ToFloat {
  template <class From>
  static GPU_INLINE To of(From x) {
    return static_cast<To>(x);
  }
};
template <>
struct Conversion<float> : ToFloat<float> {};
template <>
struct Conversion<double> : ToFloat<double> {};
template <>
struct Conversion<bool> {
  template <class From>
  static GPU_INLINE bool of(From x) {
    return x != From(0);
  }
};
template <>
struct Conversion<half> {
  template <class From>
  static GPU_INLINE half of(From x) {
    return to_half(static_cast<float>(x));
  }
};
template <>
struct Conversion<bfloat16> {
  template <class From>
  static GPU_INLINE bfloat16 of(From x) {
    return to_bfloat16(static_cast<float>(x));
  }
};

template <int Mantissa, int Bias, unsigned Largest, unsigned Beyond, unsigned Nan>
struct Conversion<float8<Mantissa, Bias, Largest, Beyond, Nan>> {
  using To = float8<Mantissa, Bias, Largest, Beyond, Nan>;
  template <class From>
  static GPU_INLINE To of(From x) {
    return Float8From<To>::of(static_cast<float>(x));
  }
};

template <class To, class From>
GPU_INLINE To convert(From x) {
  return Conversion<To>::of(number(x));
}

/// The last operand that a thread met and that may not be: an index, with the range that it is outside of
/// (negative: [-range, range)), or a divisor of zero, without one.
struct BadOperand {
  bool found = false;
  Int value = 0, range = 0;
};
GPU_INLINE void report(Fault* fault, const BadOperand& bad) {
  if (bad.found) report(fault, bad.value, bad.range);
}

/// Where a gather's index points; 0 if it is wrong.
GPU_INLINE Int place_of(Int index, Int range, bool from_end, BadOperand& bad) {
  if (index >= 0 && index < range) return index;
  if (from_end && index < 0 && index >= -range) return index + range;
  bad.found = true;
  bad.value = index;
  bad.range = from_end ? -range : range;
  return 0;
}
/// What an integer is divided by, where there is an element to divide.
GPU_INLINE Int divisor(Int value, bool exists, BadOperand& bad) {
  if (value == 0 && exists) {
    bad.found = true;
    bad.value = bad.range = 0;
  }
  return value;
}
/// The same where indices out of range have a value of their own.
GPU_INLINE bool is_outside(Int index, Int range, bool from_end) {
  return index >= range || index < (from_end ? -range : 0);
}
GPU_INLINE Int wrapped(Int index, Int range) { return index < 0 ? index + range : index; }

// Folds: as base/fold.h, with accumulators that combine.

template <class T>
struct OfValues {
  using Acc = T;
  static GPU_INLINE T result(Acc acc) { return acc; }
};

template <class T>
GPU_INLINE T lowest() {
  return T(-TENON_INFINITY);
}
template <>
GPU_INLINE Int lowest<Int>() {
  return wrap(Bits(1) << 63);
}
template <class T>
GPU_INLINE T highest() {
  return T(TENON_INFINITY);
}
template <>
GPU_INLINE Int highest<Int>() {
  return wrap(~(Bits(1) << 63));
}

template <class T>
struct FoldSum : OfValues<T> {
  static GPU_INLINE T identity() { return 0; }
  static GPU_INLINE void fold(T& acc, T x, Int) { acc = add_of(acc, x); }
  static GPU_INLINE T combine(T a, T b) { return add_of(a, b); }
};
/// A sum of many floats: with the part that rounding lost (Knuth's two-sum; a thread's elements take half of
/// its operations, which find what is lost of an element that is smaller than the sum).
template <>
struct FoldSum<float> {
  struct Acc {
    float sum, lost;
  };
  static GPU_INLINE Acc identity() { return {0, 0}; }
  static GPU_INLINE void fold(Acc& acc, float x, Int) {
    const float sum = acc.sum + x;
    acc = {sum, acc.lost + (x - (sum - acc.sum))};
  }
  static GPU_INLINE Acc combine(Acc a, Acc b) {
    const float sum = a.sum + b.sum;
    const float other = sum - a.sum;
    const float lost = (a.sum - (sum - other)) + (b.sum - other);
    return {sum, (a.lost + b.lost) + lost};
  }
  static GPU_INLINE float result(Acc acc) { return isfinite(acc.sum) ? acc.sum + acc.lost : acc.sum; }
};
template <class T>
struct FoldProd : OfValues<T> {
  static GPU_INLINE T identity() { return 1; }
  static GPU_INLINE void fold(T& acc, T x, Int) { acc = mul_of(acc, x); }
  static GPU_INLINE T combine(T a, T b) { return mul_of(a, b); }
};
template <class T>
struct FoldMin : OfValues<T> {
  static GPU_INLINE T identity() { return highest<T>(); }
  static GPU_INLINE void fold(T& acc, T x, Int) { acc = min_of(acc, x); }
  static GPU_INLINE T combine(T a, T b) { return min_of(a, b); }
};
template <class T>
struct FoldMax : OfValues<T> {
  static GPU_INLINE T identity() { return lowest<T>(); }
  static GPU_INLINE void fold(T& acc, T x, Int) { acc = max_of(acc, x); }
  static GPU_INLINE T combine(T a, T b) { return max_of(a, b); }
};
struct Truth {
  using Acc = int;  // shuffles move whole words
  static GPU_INLINE bool result(int acc) { return acc != 0; }
};
template <class T>
struct FoldAny : Truth {
  static GPU_INLINE int identity() { return 0; }
  static GPU_INLINE void fold(int& acc, bool x, Int) { acc |= int(x); }
  static GPU_INLINE int combine(int a, int b) { return a | b; }
};
template <class T>
struct FoldAll : Truth {
  static GPU_INLINE int identity() { return 1; }
  static GPU_INLINE void fold(int& acc, bool x, Int) { acc &= int(x); }
  static GPU_INLINE int combine(int a, int b) { return a & b; }
};

/// The place of the first extreme element; the first NaN, if there is one.
template <class T, bool Largest>
struct Position {
  struct Acc {
    T best;
    Int index;
  };
  static GPU_INLINE Acc identity() { return {Largest ? lowest<T>() : highest<T>(), highest<Int>()}; }
  static GPU_INLINE void fold(Acc& acc, T x, Int position) { acc = combine(acc, {x, position}); }
  static GPU_INLINE Acc combine(Acc a, Acc b) {
    const bool nan_a = a.best != a.best, nan_b = b.best != b.best;
    const bool better = Largest ? a.best > b.best : a.best < b.best;
    const bool level = nan_a ? nan_b : a.best == b.best;
    const bool keep = level ? a.index < b.index : nan_a || (better && !nan_b);
    return keep ? a : b;
  }
  static GPU_INLINE Int result(Acc acc) { return acc.index == highest<Int>() ? 0 : acc.index; }
};
template <class T>
struct FoldArgmin : Position<T, false> {};
template <class T>
struct FoldArgmax : Position<T, true> {};

}  // namespace gpu
}  // namespace tenon
