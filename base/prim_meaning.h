// What the scalar primitives mean on floats and on 64-bit integers: built-in types and C's functions of
// numbers only. A run-time compiler for GPUs takes this text as it stands, with that of base/prims.def in
// place of the includes.
#pragma once
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define TENON_SCALAR __device__ inline
#define TENON_SCALAR_INLINE __device__ __forceinline__
#else
#include <cmath>
#ifdef TENON_ISA  // no copy is left behind that another ISA's code could be linked to
#define TENON_SCALAR [[gnu::always_inline]] inline
#else
#define TENON_SCALAR inline
#endif
#define TENON_SCALAR_INLINE [[gnu::always_inline]] inline
#endif
#ifdef __CUDACC_RTC__
#define TENON_INFINITY __longlong_as_double(0x7ff0000000000000)
#define TENON_NAN __longlong_as_double(0x7ff8000000000000)
#else
#define TENON_INFINITY __builtin_inf()
#define TENON_NAN __builtin_nan("")
#endif

namespace tenon {

/// Every scalar operation that expressions (ir) and register programs (kernels) are made of.
/// Conventions are PyTorch's; where PyTorch raises (integer division by zero) a value is defined.
enum class Prim : unsigned char {
#define PRIM_NUMBER(name, ...) name,
#define PRIM_REAL(name, ...) name,
#define PRIM_TEST(name, ...) name,
#define PRIM_BITS(name, ...) name,
#include "base/prims.def"
  select,  // select(condition, a, b)
  cast,    // to a dtype that the node or instruction names
};

namespace scalar_detail {

#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
using ::fmod, ::pow;  // beside those of integers below
#else
using std::acos, std::acosh, std::asin, std::asinh, std::atan, std::atan2, std::atanh, std::ceil;
using std::copysign, std::cos, std::cosh, std::erf, std::erfc, std::exp, std::exp2, std::expm1, std::fabs;
using std::floor, std::fmax, std::fmin, std::fmod, std::hypot, std::isfinite, std::isinf, std::isnan;
using std::log, std::log10, std::log1p, std::log2, std::nearbyint, std::nextafter, std::pow, std::signbit;
using std::sin, std::sinh, std::sqrt, std::tan, std::tanh, std::trunc;

TENON_SCALAR float lgamma(float x) {
  int sign = 0;  // the _r forms do not write the global signgam, which is a race
  return isinf(x) ? fabs(x) : ::lgammaf_r(x, &sign);
}
TENON_SCALAR double lgamma(double x) {
  int sign = 0;
  return isinf(x) ? fabs(x) : ::lgamma_r(x, &sign);
}
#endif

using Int = long;  // 64 bits wherever Tenon runs
using Bits = unsigned long;
static_assert(sizeof(Int) == 8 && sizeof(Bits) == 8);
constexpr double pi = 3.14159265358979323846;

// Of floats.

template <class T>
TENON_SCALAR T floor_div(T a, T b) {  // torch.floor_divide: exact floor of the exact quotient
  if (b == T(0)) return a / b;
  const T rem = fmod(a, b);
  T quotient = (a - rem) / b;
  if (rem != T(0) && (b < T(0)) != (rem < T(0))) quotient -= T(1);
  if (quotient == T(0)) return copysign(T(0), a / b);
  const T floored = floor(quotient);
  return quotient - floored > T(0.5) ? floored + T(1) : floored;
}
template <class T>
TENON_SCALAR T remainder(T a, T b) {
  const T rem = fmod(a, b);
  return rem != T(0) && (b < T(0)) != (rem < T(0)) ? rem + b : rem;
}

/// The inverse of erf on [-1, 1]; ±inf at the ends, NaN outside.
TENON_SCALAR double erfinv(double x) {
  const double magnitude = fabs(x);
  if (isnan(x) || magnitude > 1) return TENON_NAN;
  if (magnitude == 1) return copysign(TENON_INFINITY, x);
  // Start from Winitzki's closed form (relative error 2e-3), then Halley's steps, which triple the digits.
  constexpr double a = 0.147;
  const double log_term = log1p(-x * x);
  const double middle = 2 / (pi * a) + log_term / 2;
  const double squared = sqrt(middle * middle - log_term / a) - middle;
  double y = sqrt(squared < 0 ? 0.0 : squared);
  if (magnitude < 1e-8) return x * sqrt(pi) / 2;
  for (int step = 0; step < 3; ++step) {
    // 1 - |x| is exact where |x| >= 0.5, and erfc keeps its digits in the tail, where erf has none left.
    const double error = magnitude < 0.5 ? erf(y) - magnitude : (1 - magnitude) - erfc(y);
    const double slope = 2 / sqrt(pi) * exp(-y * y);
    const double newton = error / slope;
    y -= newton / (1 + y * newton);
  }
  return copysign(y, x);
}

/// The derivative of lgamma. -inf at 0, inf at -0, NaN at the negative integers, as torch.digamma.
TENON_SCALAR double digamma(double x) {
  if (x == 0) return copysign(TENON_INFINITY, -x);
  double reflected = 0;
  if (x < 0) {
    if (isinf(x) || x == floor(x)) return TENON_NAN;
    reflected = pi / tan(pi * (x - floor(x + 0.5)));  // tan(pi x) has period 1
    x = 1 - x;
  }
  double shifted = 0;  // psi(x) = psi(x + 1) - 1 / x, up to where the asymptotic series has full precision
  for (; x < 10; x += 1) shifted -= 1 / x;
  if (isinf(x)) return x - reflected;
  // log x - 1/(2x) - sum B_2k / (2k x^2k)
  const double s = 1 / (x * x);
  const double series =
      s * (1.0 / 12 -
           s * (1.0 / 120 -
                s * (1.0 / 252 - s * (1.0 / 240 - s * (1.0 / 132 - s * (691.0 / 32760 - s * (1.0 / 12)))))));
  return shifted + log(x) - 0.5 / x - series - reflected;
}

// Of integers of 32 and of 64 bits. They wrap around (two's complement); a / 0 is 0 and the remainder of a /
// 0 is a. What narrower ones mean is what 32 bits give, cut.

TENON_SCALAR Int wrap(Bits x) { return static_cast<Int>(x); }
TENON_SCALAR Bits raw(Int x) { return static_cast<Bits>(x); }
TENON_SCALAR int wrap(unsigned x) { return static_cast<int>(x); }
TENON_SCALAR unsigned raw(int x) { return static_cast<unsigned>(x); }

template <class I>
TENON_SCALAR I quotient_of(I a, I b) {
  if (b == 0) return 0;
  return b == -1 ? wrap(0 - raw(a)) : a / b;
}
template <class I>
TENON_SCALAR I rest_of(I a, I b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}
template <class I>
TENON_SCALAR I floored_rest_of(I a, I b) {
  const I rem = rest_of(a, b);
  return b != 0 && rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
}
template <class I>
TENON_SCALAR I floored_quotient_of(I a, I b) {
  const I quotient = quotient_of(a, b);
  const I rem = rest_of(a, b);
  return b != 0 && rem != 0 && (rem < 0) != (b < 0) ? quotient - 1 : quotient;
}
template <class I>
TENON_SCALAR I power_of(I base, I exponent) {
  if (exponent < 0) {  // only 1 and -1 have an integer inverse; the others give 0
    if (base == 1 || (base == -1 && exponent % 2 == 0)) return 1;
    return base == -1 ? -1 : 0;
  }
  auto result = raw(I(1));
  auto square = raw(base);
  for (auto n = raw(exponent); n != 0; n >>= 1) {
    if (n & 1) result *= square;
    square *= square;
  }
  return wrap(result);
}
template <class I>
TENON_SCALAR I shifted_left(I a, I by) {
  constexpr I bits = 8 * sizeof(I);
  return by < 0 || by >= bits ? 0 : wrap(raw(a) << by);
}
template <class I>
TENON_SCALAR I shifted_right(I a, I by) {
  constexpr I most = 8 * sizeof(I) - 1;
  return a >> (by < 0 || by >= most ? most : by);
}
// Beside the functions of floats with these names.
#define TENON_INTEGER_FUNCTION(name, meaning)                        \
  TENON_SCALAR Int name(Int a, Int b) { return meaning<Int>(a, b); } \
  TENON_SCALAR int name(int a, int b) { return meaning<int>(a, b); }
TENON_INTEGER_FUNCTION(trunc_div, quotient_of)
TENON_INTEGER_FUNCTION(fmod, rest_of)
TENON_INTEGER_FUNCTION(remainder, floored_rest_of)
TENON_INTEGER_FUNCTION(floor_div, floored_quotient_of)
TENON_INTEGER_FUNCTION(pow, power_of)
TENON_INTEGER_FUNCTION(shift_left, shifted_left)
TENON_INTEGER_FUNCTION(shift_right, shifted_right)
#undef TENON_INTEGER_FUNCTION

template <class A, class B>
constexpr bool same = false;
template <class A>
constexpr bool same<A, A> = true;

/// A meaning is computed in the type of its operands (a test in bool, or int): a function of doubles only, or
/// of integers, would be another one.
template <class T, class Computed>
TENON_SCALAR_INLINE T in_its_type(Computed value) {
  static_assert(same<Computed, T> || same<Computed, bool> || same<Computed, int>);
  return T(value);
}

/// The meaning of a primitive on floats.
template <class T>
TENON_SCALAR_INLINE T meaning(Prim p, T a, T b, T c) {
  switch (p) {
    // clang-format off
#define PRIM_NUMBER(p, n, of_float, ...) case Prim::p: return in_its_type<T>(of_float);
#define PRIM_REAL(p, n, of_float, ...) case Prim::p: return in_its_type<T>(of_float);
#define PRIM_TEST(p, n, of_float, of_int) case Prim::p: return in_its_type<T>(of_float);
#define PRIM_BITS(p, ...) case Prim::p: break;  // has no floats
// clang-format on
#include "base/prims.def"
    case Prim::select: return a != T(0) ? b : c;
    case Prim::cast: return a;
  }
  return T(TENON_NAN);
}

/// The meaning of a primitive on integers; that of a function of real numbers is 0.
template <class I>
TENON_SCALAR_INLINE I meaning_of_integers(Prim p, I a, I b, I c) {
  switch (p) {
    // clang-format off
#define PRIM_NUMBER(p, n, of_float, of_int, ...) case Prim::p: return of_int;
#define PRIM_REAL(p, ...) case Prim::p: break;
#define PRIM_TEST(p, n, of_float, of_int) case Prim::p: return of_int;
#define PRIM_BITS(p, n, of_int) case Prim::p: return of_int;
// clang-format on
#include "base/prims.def"
    case Prim::select: return a != 0 ? b : c;
    case Prim::cast: return a;
  }
  return 0;
}
template <>
TENON_SCALAR_INLINE Int meaning(Prim p, Int a, Int b, Int c) {
  return meaning_of_integers(p, a, b, c);
}
template <>
TENON_SCALAR_INLINE int meaning(Prim p, int a, int b, int c) {
  return meaning_of_integers(p, a, b, c);
}

}  // namespace scalar_detail
}  // namespace tenon
