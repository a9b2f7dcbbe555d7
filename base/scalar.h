// The scalar primitives: their names, arities, and what each one means on plain numbers.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace tenon {

/// Every scalar operation that expressions (ir) and register programs (kernels) are made of.
/// Conventions are PyTorch's; where PyTorch raises (integer division by zero) a value is defined below.
enum class Prim : std::uint8_t {
  // arithmetic
  add,
  sub,
  mul,
  div,
  floor_div,
  trunc_div,
  remainder,
  fmod,
  neg,
  abs,
  sign,
  min,
  max,
  fmin,
  fmax,
  pow,
  // rounding
  floor,
  ceil,
  trunc,
  round,
  // functions of real numbers
  recip,
  sqrt,
  rsqrt,
  exp,
  exp2,
  expm1,
  log,
  log2,
  log10,
  log1p,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  atan2,
  sinh,
  cosh,
  tanh,
  asinh,
  acosh,
  atanh,
  erf,
  erfc,
  erfinv,
  lgamma,
  digamma,
  sigmoid,
  hypot,
  copysign,
  nextafter,
  ldexp,
  // tests
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,
  logical_xor,
  logical_not,
  isnan,
  isinf,
  isfinite,
  signbit,
  // bits
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shift_left,
  shift_right,
  // select(condition, a, b); cast (to a dtype that the node or instruction names)
  select,
  cast
};

/// What a primitive accepts and returns. Operands have one common type, except select's condition.
enum class PrimKind : std::uint8_t {
  number,  // floats, integers and bool; the result has the operands' type
  real,    // floats; integers are to be cast to a float first, as PyTorch promotes them
  test,    // any operands; the result is bool
  bits,    // integers and bool; the result has the operands' type
  select,  // bool, then two of one type; the result has that type
  cast,    // any; the result has the type named beside the primitive
};

struct PrimInfo {
  Prim prim;
  std::string_view name;
  int arity;
  PrimKind kind;
};

inline constexpr std::array prim_table = {
    PrimInfo{Prim::add, "add", 2, PrimKind::number},
    PrimInfo{Prim::sub, "sub", 2, PrimKind::number},
    PrimInfo{Prim::mul, "mul", 2, PrimKind::number},
    PrimInfo{Prim::div, "div", 2, PrimKind::number},
    PrimInfo{Prim::floor_div, "floor_div", 2, PrimKind::number},
    PrimInfo{Prim::trunc_div, "trunc_div", 2, PrimKind::number},
    PrimInfo{Prim::remainder, "remainder", 2, PrimKind::number},
    PrimInfo{Prim::fmod, "fmod", 2, PrimKind::number},
    PrimInfo{Prim::neg, "neg", 1, PrimKind::number},
    PrimInfo{Prim::abs, "abs", 1, PrimKind::number},
    PrimInfo{Prim::sign, "sign", 1, PrimKind::number},
    PrimInfo{Prim::min, "min", 2, PrimKind::number},
    PrimInfo{Prim::max, "max", 2, PrimKind::number},
    PrimInfo{Prim::fmin, "fmin", 2, PrimKind::number},
    PrimInfo{Prim::fmax, "fmax", 2, PrimKind::number},
    PrimInfo{Prim::pow, "pow", 2, PrimKind::number},
    PrimInfo{Prim::floor, "floor", 1, PrimKind::number},
    PrimInfo{Prim::ceil, "ceil", 1, PrimKind::number},
    PrimInfo{Prim::trunc, "trunc", 1, PrimKind::number},
    PrimInfo{Prim::round, "round", 1, PrimKind::number},
    PrimInfo{Prim::recip, "recip", 1, PrimKind::real},
    PrimInfo{Prim::sqrt, "sqrt", 1, PrimKind::real},
    PrimInfo{Prim::rsqrt, "rsqrt", 1, PrimKind::real},
    PrimInfo{Prim::exp, "exp", 1, PrimKind::real},
    PrimInfo{Prim::exp2, "exp2", 1, PrimKind::real},
    PrimInfo{Prim::expm1, "expm1", 1, PrimKind::real},
    PrimInfo{Prim::log, "log", 1, PrimKind::real},
    PrimInfo{Prim::log2, "log2", 1, PrimKind::real},
    PrimInfo{Prim::log10, "log10", 1, PrimKind::real},
    PrimInfo{Prim::log1p, "log1p", 1, PrimKind::real},
    PrimInfo{Prim::sin, "sin", 1, PrimKind::real},
    PrimInfo{Prim::cos, "cos", 1, PrimKind::real},
    PrimInfo{Prim::tan, "tan", 1, PrimKind::real},
    PrimInfo{Prim::asin, "asin", 1, PrimKind::real},
    PrimInfo{Prim::acos, "acos", 1, PrimKind::real},
    PrimInfo{Prim::atan, "atan", 1, PrimKind::real},
    PrimInfo{Prim::atan2, "atan2", 2, PrimKind::real},
    PrimInfo{Prim::sinh, "sinh", 1, PrimKind::real},
    PrimInfo{Prim::cosh, "cosh", 1, PrimKind::real},
    PrimInfo{Prim::tanh, "tanh", 1, PrimKind::real},
    PrimInfo{Prim::asinh, "asinh", 1, PrimKind::real},
    PrimInfo{Prim::acosh, "acosh", 1, PrimKind::real},
    PrimInfo{Prim::atanh, "atanh", 1, PrimKind::real},
    PrimInfo{Prim::erf, "erf", 1, PrimKind::real},
    PrimInfo{Prim::erfc, "erfc", 1, PrimKind::real},
    PrimInfo{Prim::erfinv, "erfinv", 1, PrimKind::real},
    PrimInfo{Prim::lgamma, "lgamma", 1, PrimKind::real},
    PrimInfo{Prim::digamma, "digamma", 1, PrimKind::real},
    PrimInfo{Prim::sigmoid, "sigmoid", 1, PrimKind::real},
    PrimInfo{Prim::hypot, "hypot", 2, PrimKind::real},
    PrimInfo{Prim::copysign, "copysign", 2, PrimKind::real},
    PrimInfo{Prim::nextafter, "nextafter", 2, PrimKind::real},
    PrimInfo{Prim::ldexp, "ldexp", 2, PrimKind::real},
    PrimInfo{Prim::lt, "lt", 2, PrimKind::test},
    PrimInfo{Prim::le, "le", 2, PrimKind::test},
    PrimInfo{Prim::gt, "gt", 2, PrimKind::test},
    PrimInfo{Prim::ge, "ge", 2, PrimKind::test},
    PrimInfo{Prim::eq, "eq", 2, PrimKind::test},
    PrimInfo{Prim::ne, "ne", 2, PrimKind::test},
    PrimInfo{Prim::logical_and, "logical_and", 2, PrimKind::test},
    PrimInfo{Prim::logical_or, "logical_or", 2, PrimKind::test},
    PrimInfo{Prim::logical_xor, "logical_xor", 2, PrimKind::test},
    PrimInfo{Prim::logical_not, "logical_not", 1, PrimKind::test},
    PrimInfo{Prim::isnan, "isnan", 1, PrimKind::test},
    PrimInfo{Prim::isinf, "isinf", 1, PrimKind::test},
    PrimInfo{Prim::isfinite, "isfinite", 1, PrimKind::test},
    PrimInfo{Prim::signbit, "signbit", 1, PrimKind::test},
    PrimInfo{Prim::bit_and, "bit_and", 2, PrimKind::bits},
    PrimInfo{Prim::bit_or, "bit_or", 2, PrimKind::bits},
    PrimInfo{Prim::bit_xor, "bit_xor", 2, PrimKind::bits},
    PrimInfo{Prim::bit_not, "bit_not", 1, PrimKind::bits},
    PrimInfo{Prim::shift_left, "shift_left", 2, PrimKind::bits},
    PrimInfo{Prim::shift_right, "shift_right", 2, PrimKind::bits},
    PrimInfo{Prim::select, "select", 3, PrimKind::select},
    PrimInfo{Prim::cast, "cast", 1, PrimKind::cast},
};
inline constexpr std::size_t prim_count = prim_table.size();

constexpr bool prim_table_in_order() {
  for (std::size_t i = 0; i < prim_count; ++i)
    if (static_cast<std::size_t>(prim_table[i].prim) != i) return false;
  return static_cast<std::size_t>(Prim::cast) + 1 == prim_count;
}
static_assert(prim_table_in_order());

constexpr const PrimInfo& info(Prim p) { return prim_table[static_cast<std::size_t>(p)]; }
constexpr std::string_view name(Prim p) { return info(p).name; }
constexpr int arity(Prim p) { return info(p).arity; }

constexpr std::optional<Prim> prim_from_name(std::string_view wanted) {
  for (const PrimInfo& row : prim_table)
    if (row.name == wanted) return row.prim;
  return std::nullopt;
}

/// True for those that strings may be operands of.
constexpr bool takes_strings(Prim p) { return p == Prim::eq || p == Prim::ne || p == Prim::select; }

/// The type arithmetic on a real dtype happens in: f32 (f16, bf16, f32), f64, i64 (all integers), bool.
constexpr DType compute_type(DType t) {
  if (is_bool(t) || t == DType::f64) return t;
  return is_float(t) ? DType::f32 : DType::i64;
}

/// A value of one real element type as another. To bool: not equal to zero (NaN is true). Float to integer
/// truncates; NaN and what does not fit become the most negative value of i64 (for i64, u64, u32) or of i32
/// (for the others), and narrower integers then keep the low bits, as PyTorch does on x86.
template <class To, class From>
constexpr To convert(From x) {
  if constexpr (std::same_as<To, From>) {
    return x;
  } else if constexpr (std::same_as<From, Half> || std::same_as<From, BFloat16>) {
    return convert<To>(static_cast<float>(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From(0);
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    using Wide =
        std::conditional_t<sizeof(To) == 8 || std::same_as<To, std::uint32_t>, std::int64_t, std::int32_t>;
    constexpr From bound = sizeof(Wide) == 8 ? From(0x1p63) : From(0x1p31);
    const bool fits = x >= -bound && x < bound;
    return static_cast<To>(fits ? static_cast<Wide>(x) : std::numeric_limits<Wide>::min());
  } else if constexpr (std::same_as<To, Half> || std::same_as<To, BFloat16>) {
    return To(static_cast<float>(x));
  } else {
    return static_cast<To>(x);
  }
}

/// x, in a compute type, after it was stored as `to` and read back into the compute type of `to`:
/// the meaning of Prim::cast. R must be the C++ type of compute_type(to).
template <class R, class T>
R cast(DType to, T x) {
  return dispatch_real(to, [&](auto tag) { return convert<R>(convert<typename decltype(tag)::type>(x)); });
}

/// The inverse of erf on [-1, 1]; ±inf at the ends, NaN outside.
double erfinv(double x);
/// The derivative of lgamma. -inf at 0, inf at -0, NaN at the negative integers, as torch.digamma.
double digamma(double x);

namespace scalar_detail {

template <std::floating_point T>
T floor_div(T a, T b) {  // torch.floor_divide: exact floor of the exact quotient where representable
  if (b == T(0)) return a / b;
  const T rem = std::fmod(a, b);
  T quotient = (a - rem) / b;
  if (rem != T(0) && (b < T(0)) != (rem < T(0))) quotient -= T(1);
  if (quotient == T(0)) return std::copysign(T(0), a / b);
  const T floored = std::floor(quotient);
  return quotient - floored > T(0.5) ? floored + T(1) : floored;
}
template <std::floating_point T>
T remainder(T a, T b) {
  const T rem = std::fmod(a, b);
  return rem != T(0) && (b < T(0)) != (rem < T(0)) ? rem + b : rem;
}
template <std::floating_point T>
T lgamma(T x) {
  int sign = 0;  // the _r forms do not write the global signgam, which is a race
  if (std::isinf(x)) return std::numeric_limits<T>::infinity();
  if constexpr (std::same_as<T, float>) return ::lgammaf_r(x, &sign);
  return static_cast<T>(::lgamma_r(static_cast<double>(x), &sign));
}

// Integers wrap around (two's complement); a / 0 is 0 and the remainder of a / 0 is a.
constexpr std::int64_t wrap(std::uint64_t x) { return static_cast<std::int64_t>(x); }
constexpr std::uint64_t raw(std::int64_t x) { return static_cast<std::uint64_t>(x); }

constexpr std::int64_t trunc_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrap(0 - raw(a)) : a / b;
}
constexpr std::int64_t fmod(std::int64_t a, std::int64_t b) {
  if (b == 0) return a;
  return b == -1 ? 0 : a % b;
}
constexpr std::int64_t remainder(std::int64_t a, std::int64_t b) {
  const std::int64_t rem = fmod(a, b);
  return b != 0 && rem != 0 && (rem < 0) != (b < 0) ? rem + b : rem;
}
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t quotient = trunc_div(a, b);
  const std::int64_t rem = fmod(a, b);
  return b != 0 && rem != 0 && (rem < 0) != (b < 0) ? quotient - 1 : quotient;
}
constexpr std::int64_t pow(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {  // only 1 and -1 have an integer inverse; the others give 0
    if (base == 1 || (base == -1 && exponent % 2 == 0)) return 1;
    return base == -1 ? -1 : 0;
  }
  std::uint64_t result = 1;
  std::uint64_t square = raw(base);
  for (std::uint64_t n = raw(exponent); n != 0; n >>= 1) {
    if (n & 1) result *= square;
    square *= square;
  }
  return wrap(result);
}
constexpr std::int64_t shift_left(std::int64_t a, std::int64_t by) {
  return by < 0 || by >= 64 ? 0 : wrap(raw(a) << by);
}
constexpr std::int64_t shift_right(std::int64_t a, std::int64_t by) {
  return a >> (by < 0 || by >= 63 ? 63 : by);
}

template <class T>
[[gnu::always_inline]] inline T meaning(Prim p, T a, T b, T c);

template <std::floating_point T>
[[gnu::always_inline]] inline T meaning(Prim p, T a, T b, T c) {
  switch (p) {
    case Prim::add: return a + b;
    case Prim::sub: return a - b;
    case Prim::mul: return a * b;
    case Prim::div: return a / b;
    case Prim::floor_div: return floor_div(a, b);
    case Prim::trunc_div: return std::trunc(a / b);
    case Prim::remainder: return remainder(a, b);
    case Prim::fmod: return std::fmod(a, b);
    case Prim::neg: return -a;
    case Prim::abs: return std::fabs(a);
    case Prim::sign: return T(a > T(0)) - T(a < T(0));      // NaN gives 0, as torch.sign
    case Prim::min: return a < b || std::isnan(a) ? a : b;  // NaN in, NaN out
    case Prim::max: return a > b || std::isnan(a) ? a : b;
    case Prim::fmin: return std::fmin(a, b);  // the one that is not NaN
    case Prim::fmax: return std::fmax(a, b);
    case Prim::pow: return std::pow(a, b);
    case Prim::floor: return std::floor(a);
    case Prim::ceil: return std::ceil(a);
    case Prim::trunc: return std::trunc(a);
    case Prim::round: return std::nearbyint(a);  // ties to even
    case Prim::recip: return T(1) / a;
    case Prim::sqrt: return std::sqrt(a);
    case Prim::rsqrt: return T(1) / std::sqrt(a);
    case Prim::exp: return std::exp(a);
    case Prim::exp2: return std::exp2(a);
    case Prim::expm1: return std::expm1(a);
    case Prim::log: return std::log(a);
    case Prim::log2: return std::log2(a);
    case Prim::log10: return std::log10(a);
    case Prim::log1p: return std::log1p(a);
    case Prim::sin: return std::sin(a);
    case Prim::cos: return std::cos(a);
    case Prim::tan: return std::tan(a);
    case Prim::asin: return std::asin(a);
    case Prim::acos: return std::acos(a);
    case Prim::atan: return std::atan(a);
    case Prim::atan2: return std::atan2(a, b);
    case Prim::sinh: return std::sinh(a);
    case Prim::cosh: return std::cosh(a);
    case Prim::tanh: return std::tanh(a);
    case Prim::asinh: return std::asinh(a);
    case Prim::acosh: return std::acosh(a);
    case Prim::atanh: return std::atanh(a);
    case Prim::erf: return std::erf(a);
    case Prim::erfc: return std::erfc(a);
    case Prim::erfinv: return static_cast<T>(tenon::erfinv(static_cast<double>(a)));
    case Prim::lgamma: return lgamma(a);
    case Prim::digamma: return static_cast<T>(tenon::digamma(static_cast<double>(a)));
    case Prim::sigmoid: return T(1) / (T(1) + std::exp(-a));
    case Prim::hypot: return std::hypot(a, b);
    case Prim::copysign: return std::copysign(a, b);
    case Prim::nextafter: return std::nextafter(a, b);
    case Prim::ldexp: return a * std::exp2(b);
    case Prim::lt: return T(a < b);
    case Prim::le: return T(a <= b);
    case Prim::gt: return T(a > b);
    case Prim::ge: return T(a >= b);
    case Prim::eq: return T(a == b);
    case Prim::ne: return T(a != b);
    case Prim::logical_and: return T(a != T(0) && b != T(0));
    case Prim::logical_or: return T(a != T(0) || b != T(0));
    case Prim::logical_xor: return T((a != T(0)) != (b != T(0)));
    case Prim::logical_not: return T(a == T(0));
    case Prim::isnan: return T(std::isnan(a));
    case Prim::isinf: return T(std::isinf(a));
    case Prim::isfinite: return T(std::isfinite(a));
    case Prim::signbit: return T(std::signbit(a));
    case Prim::select: return a != T(0) ? b : c;
    case Prim::cast: return a;
    case Prim::bit_and:
    case Prim::bit_or:
    case Prim::bit_xor:
    case Prim::bit_not:
    case Prim::shift_left:
    case Prim::shift_right: break;  // PrimKind::bits has no floats
  }
  return std::numeric_limits<T>::quiet_NaN();
}

template <>
[[gnu::always_inline]] inline std::int64_t meaning(Prim p, std::int64_t a, std::int64_t b, std::int64_t c) {
  switch (p) {
    case Prim::add: return wrap(raw(a) + raw(b));
    case Prim::sub: return wrap(raw(a) - raw(b));
    case Prim::mul: return wrap(raw(a) * raw(b));
    case Prim::div:
    case Prim::trunc_div: return trunc_div(a, b);
    case Prim::floor_div: return floor_div(a, b);
    case Prim::remainder: return remainder(a, b);
    case Prim::fmod: return fmod(a, b);
    case Prim::neg: return wrap(0 - raw(a));
    case Prim::abs: return a < 0 ? wrap(0 - raw(a)) : a;
    case Prim::sign: return (a > 0) - (a < 0);
    case Prim::min:
    case Prim::fmin: return a < b ? a : b;
    case Prim::max:
    case Prim::fmax: return a > b ? a : b;
    case Prim::pow: return pow(a, b);
    case Prim::floor:
    case Prim::ceil:
    case Prim::trunc:
    case Prim::round:
    case Prim::cast: return a;
    case Prim::lt: return a < b;
    case Prim::le: return a <= b;
    case Prim::gt: return a > b;
    case Prim::ge: return a >= b;
    case Prim::eq: return a == b;
    case Prim::ne: return a != b;
    case Prim::logical_and: return a != 0 && b != 0;
    case Prim::logical_or: return a != 0 || b != 0;
    case Prim::logical_xor: return (a != 0) != (b != 0);
    case Prim::logical_not: return a == 0;
    case Prim::isnan:
    case Prim::isinf: return 0;
    case Prim::isfinite: return 1;
    case Prim::signbit: return a < 0;
    case Prim::bit_and: return a & b;
    case Prim::bit_or: return a | b;
    case Prim::bit_xor: return a ^ b;
    case Prim::bit_not: return ~a;
    case Prim::shift_left: return shift_left(a, b);
    case Prim::shift_right: return shift_right(a, b);
    case Prim::select: return a != 0 ? b : c;
    default: break;  // a function of real numbers: in double, truncated
  }
  return convert<std::int64_t>(
      meaning<double>(p, static_cast<double>(a), static_cast<double>(b), static_cast<double>(c)));
}

}  // namespace scalar_detail

/// The meaning of p on one type: float, double, int64_t or bool. Unused operands are ignored. Tests return
/// 1 or 0 of that type. select reads its condition as a != 0. cast returns a (see tenon::cast for the
/// effect). On bool, arithmetic is that of 0 and 1, then "not zero" (add is or, mul is and), and bit_not is
/// logical not.
template <class T>
T apply(Prim p, T a, T b = {}, T c = {}) {
  if constexpr (std::same_as<T, bool>) {
    const Prim q = p == Prim::bit_not ? Prim::logical_not : p;
    return scalar_detail::meaning<std::int64_t>(q, a, b, c) != 0;
  } else {
    return scalar_detail::meaning<T>(p, a, b, c);
  }
}

}  // namespace tenon
