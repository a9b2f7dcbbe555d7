// The loops of every primitive on every type that values are held in, and of casts between them, from the
// meanings in base/scalar.h: plain loops, which the compiler turns into vector code. Built once per ISA.
#include <bit>

#include "base/zero_division.h"
#include "kernels/cpu/loop_pieces.h"
#include "kernels/cpu/loop_rows.h"
#include "kernels/cpu/loop_shifts.h"
#include "kernels/cpu/loop_wide_casts.h"
#include "kernels/cpu/math_double_angles.h"
#include "kernels/cpu/math_double_error.h"
#include "kernels/cpu/math_double_hyperbolic.h"
#include "kernels/cpu/math_double_pairs.h"
#include "kernels/cpu/math_double_power.h"

namespace tenon::cpu::TENON_ISA {

/// Of loop_ops_simd.cpp.
const SimdOps& loop_simd_ops();

namespace {

template <Prim P, class T>
using OperandOf = std::conditional_t<P == Prim::select, bool, T>;
template <Prim P, class T>
using ResultOf = std::conditional_t<info(P).kind == PrimKind::test, bool, T>;

/// What P gives for one operand, a T or a vector of doubles.
template <Prim P, class T>
TENON_INLINE T value_of(T a) {
  if constexpr (std::is_same_v<T, double> || std::is_same_v<T, vd>) {
    if constexpr (P == Prim::exp) return double_exp(a);
    if constexpr (P == Prim::exp2) return double_exp2(a);
    if constexpr (P == Prim::expm1) return double_expm1(a);
    if constexpr (P == Prim::tanh) return double_tanh(a);
    if constexpr (P == Prim::sigmoid) return double_sigmoid(a);
    if constexpr (P == Prim::log) return double_log(a);
    if constexpr (P == Prim::log2) return double_log2(a);
    if constexpr (P == Prim::log10) return double_log10(a);
    if constexpr (P == Prim::sin) return double_sin(a);
    if constexpr (P == Prim::cos) return double_cos(a);
    if constexpr (P == Prim::tan) return double_tan(a);
    if constexpr (P == Prim::erf) return double_erf(a);
    if constexpr (P == Prim::erfc) return double_erfc(a);
  }
  if constexpr (std::is_same_v<T, vd>) {
    if constexpr (P == Prim::erfinv) return double_erfinv(a);
    if constexpr (P == Prim::sqrt) return root_of(a);
    if constexpr (P == Prim::rsqrt) return 1 / root_of(a);
  }
  if constexpr (std::is_same_v<T, double>) {
    if constexpr (P == Prim::sinh) return double_sinh(a);
    if constexpr (P == Prim::cosh) return double_cosh(a);
    if constexpr (P == Prim::asinh) return double_asinh(a);
    if constexpr (P == Prim::acosh) return double_acosh(a);
    if constexpr (P == Prim::atanh) return double_atanh(a);
    if constexpr (P == Prim::log1p) return double_log1p(a);
    if constexpr (P == Prim::asin) return double_asin(a);
    if constexpr (P == Prim::acos) return double_acos(a);
    if constexpr (P == Prim::atan) return double_atan(a);
  }
  if constexpr (!std::is_same_v<T, vd>) return apply<T>(P, a);
}
/// Is it a function of vectors of doubles, where these have instructions of their own?
constexpr bool has_vectors(Prim p) {
  switch (p) {
    case Prim::exp:
    case Prim::exp2:
    case Prim::expm1:
    case Prim::tanh:
    case Prim::sigmoid:
    case Prim::log:
    case Prim::log2:
    case Prim::log10:
    case Prim::sin:
    case Prim::cos:
    case Prim::tan:
    case Prim::erf:
    case Prim::erfc:
    case Prim::erfinv:
    case Prim::sqrt:
    case Prim::rsqrt: return has_double_lanes;
    default: return false;
  }
}
template <Prim P>
TENON_INLINE void each_vector(double* out, const double* a, long n) {
  using L = Lanes<double>;
  for (; n >= L::count; n -= L::count, a += L::count, out += L::count) L::store(out, value_of<P>(L::load(a)));
  if (n > 0) L::store_first(out, value_of<P>(L::load_first(a, n)), n);
}

/// Functions whose vector code holds for some operands alone: the others, and their neighbours, take the C
/// library.
template <Prim P, class T>
constexpr bool has_domain =
    ((P == Prim::sin || P == Prim::cos || P == Prim::tan) && std::is_same_v<T, double>) || P == Prim::lgamma
    || P == Prim::digamma;
template <Prim P, class T>
TENON_INLINE bool is_in_domain(T a) {
  if constexpr (P == Prim::lgamma || P == Prim::digamma)
    return ((__builtin_fabs(a) >= 0x1p-500) | (a == 0)) & (__builtin_fabs(a) < __builtin_inf());
  return __builtin_fabs(a) <= largest_double_angle;
}
template <Prim P, class T>
TENON_INLINE bool are_in_domain(const T* a, long n) {
  long outside = 0;
  for (long i = 0; i < n; ++i) outside += is_in_domain<P>(a[i]) ? 0 : 1;
  return outside == 0;
}

template <class T, class Test>
TENON_INLINE bool all_of(const T* a, long n, Test test) {
  long others = 0;
  for (long i = 0; i < n; ++i) others += test(a[i]) ? 0 : 1;
  return others == 0;
}
/// P, lgamma or digamma, of what is_in_domain takes: by a shorter way where all numbers have one.
template <Prim P, class T>
TENON_INLINE void gamma_functions(T* out, const T* a, long n) {
  const auto each = [&](auto function) __attribute__((always_inline)) {
    TENON_NO_OVERLAP
    for (long i = 0; i < n; ++i) out[i] = static_cast<T>(function(static_cast<double>(a[i])));
  };
  const auto is_small = [](T x) { return (x < least_far_gamma) & (x > 1 - least_far_gamma); };
  const auto has_no_angle = [](T x) { return (x > 0) | (__builtin_trunc(x) == x); };
  if constexpr (P == Prim::lgamma) {
    const bool are_small = all_of(a, n, is_small);
    if (are_small && all_of(a, n, has_no_angle))
      return each([](double x) {
        const double above = double_lgamma_of_small_positive(x > 0 ? x : 1);
        return x > 0 ? above : __builtin_inf();
      });
    if (are_small) return each([](double x) { return double_lgamma_of_small(x); });
    if (all_of(a, n, [](T x) { return x > 0; }))
      return each([](double x) { return double_lgamma_of_positive(x); });
    return each([](double x) { return double_lgamma(x); });
  } else {
    if (all_of(a, n, has_no_angle))
      return each([](double x) {
        const double above = double_digamma_of_positive(x > 0 ? x : 1), of_pole = double_digamma_of_pole(x);
        return x > 0 ? above : of_pole;
      });
    return each([](double x) { return double_digamma(x); });
  }
}

/// The quotient of integers of up to 32 bits, or of magnitudes up to largest_double_dividend, towards zero:
/// one of doubles, cut, is exact, and is vector code. b is not 0.
template <class Int>
TENON_INLINE Int quotient_by_doubles(Int a, Int b) {
  using namespace scalar_detail;
  const Int divisor = b == -1 ? 1 : b;  // INT_MIN / -1 does not fit
  const Int quotient = static_cast<Int>(static_cast<double>(a) / static_cast<double>(divisor));
  return b == -1 ? wrap(0 - raw(quotient)) : quotient;
}
/// A quotient that is no whole number is farther from the next one than its rounding moves it.
constexpr std::int64_t largest_double_dividend = std::int64_t{1} << (has_wide_casts ? 52 : 50);
TENON_INLINE bool are_divided_by_doubles(const std::int64_t* a, const std::int64_t* b, long n) {
  const auto is_large = [](std::int64_t x) {
    return (x > largest_double_dividend) | (x < -largest_double_dividend);
  };
  std::int64_t large = 0;
  for (long i = 0; i < n; ++i) large |= is_large(a[i]) | is_large(b[i]);
  return large == 0;
}
/// a[i] to the b[i] >= 0, which wraps around: all take the steps of the largest exponent, without a branch.
template <class T>
TENON_INLINE void powers_of_integers(T* out, const T* a, const T* b, long n, int steps) {
  using U = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr long most = piece_columns(sizeof(T));
  U squares[most], results[most];
  for (long i = 0; i < n; ++i) squares[i] = static_cast<U>(a[i]), results[i] = 1;
  for (int step = 0; step < steps; ++step)
    for (long i = 0; i < n; ++i) {
      results[i] *= (static_cast<U>(b[i]) >> step & 1) != 0 ? squares[i] : 1;
      squares[i] *= squares[i];
    }
  for (long i = 0; i < n; ++i) out[i] = static_cast<T>(results[i]);
}
/// The bits of the largest of them; -1 if one is negative.
template <class T>
TENON_INLINE int steps_of_exponents(const T* b, long n) {
  T least = 0, largest = 0;
  for (long i = 0; i < n; ++i) {
    least = b[i] < least ? b[i] : least;
    largest = b[i] > largest ? b[i] : largest;
  }
  return least < 0 ? -1 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(largest)));
}

/// Products that are added without being rounded make the rest of a division of doubles exact, where the
/// quotient, cut, is a whole number that is right or by one too large.
template <Prim P, class T>
constexpr bool has_exact_rests =
#ifdef __FMA__
    std::is_same_v<T, double> && (P == Prim::fmod || P == Prim::remainder || P == Prim::floor_div);
#else
    false;
#endif
[[maybe_unused]] TENON_INLINE bool have_exact_rests(const double* a, const double* b, long n) {
  long others = 0;
  for (long i = 0; i < n; ++i) {
    const double divisor = __builtin_fabs(b[i]);
    const bool is_exact = (__builtin_fabs(a[i]) < 0x1p52 * divisor) & (divisor < __builtin_inf());
    others += is_exact ? 0 : 1;
  }
  return others == 0;
}
template <Prim P>
TENON_INLINE double exact_rest(double a, double b) {
  const double quotient = __builtin_trunc(a / b);
  const double rest = __builtin_fma(-quotient, b, a);
  const bool is_beyond = (rest < 0) != (a < 0) && rest != 0;
  const double magnitude = __builtin_fabs(rest);
  const double result = __builtin_copysign(is_beyond ? __builtin_fabs(b) - magnitude : magnitude, a);
  const bool is_below = result != 0 && (result < 0) != (b < 0);
  if constexpr (P == Prim::fmod) return result;
  if constexpr (P == Prim::remainder) return is_below ? result + b : result;
  const double whole = (a - result) / b - (is_below ? 1 : 0), floored = __builtin_floor(whole);
  const double nearest = whole - floored > 0.5 ? floored + 1 : floored;
  return whole == 0 ? __builtin_copysign(0.0, a / b) : nearest;
}
/// a 2^b
template <class L = Lanes<double>>
TENON_INLINE void times_powers_of_two(double* out, const double* a, const double* b, long n) {
  const auto of_lanes = [](auto x, auto y) { return x * value_of<Prim::exp2>(y); };
  for (; n >= L::count; n -= L::count, a += L::count, b += L::count, out += L::count)
    L::store(out, of_lanes(L::load(a), L::load(b)));
  if (n > 0) L::store_first(out, of_lanes(L::load_first(a, n), L::load_first(b, n)), n);
}
/// What P gives for two operands that quotient_by_doubles takes.
template <Prim P, class Int>
TENON_INLINE Int divided_by_doubles(Int a, Int b) {
  using namespace scalar_detail;
  const Int quotient = quotient_by_doubles(a, b);
  const Int rest = wrap(raw(a) - raw(quotient) * raw(b));
  const bool is_below = (rest != 0) & ((rest < 0) != (b < 0));
  if constexpr (P == Prim::fmod) return rest;
  if constexpr (P == Prim::remainder) return rest + (is_below ? b : 0);
  if constexpr (P == Prim::floor_div) return quotient - is_below;
  return quotient;
}
/// The same all in doubles, where products and casts of integers of 64 bits are no vector code.
template <Prim P>
TENON_INLINE std::int64_t divided_in_doubles(std::int64_t a, std::int64_t b) {
  const double dividend = double_of(a), divisor = double_of(b);
  const double quotient = __builtin_trunc(dividend / divisor), rest = dividend - quotient * divisor;
  const bool is_below = (rest != 0) & ((rest < 0) != (divisor < 0));
  if constexpr (P == Prim::fmod) return integer_of(rest);
  if constexpr (P == Prim::remainder) return integer_of(rest + (is_below ? divisor : 0));
  if constexpr (P == Prim::floor_div) return integer_of(quotient - (is_below ? 1 : 0));
  return integer_of(quotient);
}
/// What P gives for two operands.
template <Prim P, class T>
TENON_INLINE T value_of(T a, T b) {
  if constexpr (divides(P) && std::is_integral_v<T> && sizeof(T) <= 4 && !std::is_same_v<T, bool>)
    return static_cast<T>(divided_by_doubles<P, int>(a, b));
  if constexpr (std::is_same_v<T, double>) {
    if constexpr (P == Prim::atan2) return double_atan2(a, b);
    if constexpr (P == Prim::hypot) return double_hypot(a, b);
    if constexpr (P == Prim::ldexp) return a * double_exp2(b);
    if constexpr (P == Prim::nextafter) return double_nextafter(a, b);
    if constexpr (P == Prim::pow) return double_pow(a, b);
  }
  return apply<T>(P, a, b);
}

template <Prim P, class T>
void loop(const OpArgs& args) {
  using First = OperandOf<P, T>;
  using Out = ResultOf<P, T>;
  if constexpr (P == Prim::select) {
    for_each_piece<Out, First, T, T>(
        args, [](Stored<Out>* out, const Stored<First>* a, const Stored<T>* b, const Stored<T>* c, long n) {
          TENON_NO_OVERLAP
          for (long i = 0; i < n; ++i) {
            const Stored<T> yes = b[i], no = c[i];  // both are read, so that there is no branch
            out[i] = static_cast<Stored<T>>(static_cast<T>(a[i] != 0 ? yes : no));
          }
        });
  } else if constexpr (arity(P) == 2) {
    if constexpr ((P == Prim::shift_left || P == Prim::shift_right) && is_narrow_integer<T>)
      if (args.splat[1] && args.rows == 1) return shift_by_one_number<P, T>(args);
    for_each_piece<Out, T, T>(args, [](Stored<Out>* out, const Stored<T>* a, const Stored<T>* b, long n) {
      if constexpr (std::is_integral_v<T> && divides(P)) {
        bool divided_by_zero = false;
        for (long i = 0; i < n; ++i) divided_by_zero |= b[i] == 0;
        if (divided_by_zero) refuse_zero_divisor();
      }
      if constexpr (std::is_same_v<T, std::int64_t> && divides(P)) {
        if (are_divided_by_doubles(a, b, n)) {
          TENON_NO_OVERLAP
          for (long i = 0; i < n; ++i)
            out[i] = has_wide_casts ? divided_by_doubles<P>(a[i], b[i]) : divided_in_doubles<P>(a[i], b[i]);
          return;
        }
      }
#if defined(__AVX512BW__)
      if constexpr ((P == Prim::shift_left || P == Prim::shift_right) && is_narrow_integer<T>)
        return shift_in_16_bits<P>(out, a, b, n);
#endif
      if constexpr (P == Prim::shift_right && is_narrow_integer<T>)
        return shift_right_in_32_bits(out, a, b, n);
      if constexpr (P == Prim::pow && std::is_integral_v<T> && !std::is_same_v<T, bool>)
        if (const int steps = steps_of_exponents(b, n); steps >= 0)
          return powers_of_integers(out, a, b, n, steps);
      if constexpr (P == Prim::ldexp && std::is_same_v<T, double>) {
        if constexpr (has_double_lanes) return times_powers_of_two(out, a, b, n);
      }
      if constexpr (has_exact_rests<P, T>) {
        if (have_exact_rests(a, b, n)) {
          TENON_NO_OVERLAP
          for (long i = 0; i < n; ++i) out[i] = exact_rest<P>(a[i], b[i]);
          return;
        }
      }
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i)
        out[i] = static_cast<Stored<Out>>(value_of<P>(static_cast<T>(a[i]), static_cast<T>(b[i])));
    });
  } else {
    for_each_piece<Out, T>(args, [](Stored<Out>* out, const Stored<T>* a, long n) {
      if constexpr (has_domain<P, T>) {
        if (!are_in_domain<P>(a, n)) {
          for (long i = 0; i < n; ++i) out[i] = apply<T>(P, a[i]);
          return;
        }
      }
      if constexpr (P == Prim::lgamma || P == Prim::digamma) return gamma_functions<P>(out, a, n);
      if constexpr (std::is_same_v<T, double> && has_vectors(P)) return each_vector<P>(out, a, n);
      if constexpr (P == Prim::erfinv && std::is_same_v<T, double>) return erfinv_of_doubles(out, a, n);
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i) out[i] = static_cast<Stored<Out>>(value_of<P>(static_cast<T>(a[i])));
    });
  }
}

template <class T, Prim P>
constexpr OpFn loop_or_null() {
  constexpr PrimKind kind = info(P).kind;
  constexpr bool is_real = std::is_floating_point_v<T>;
  if constexpr (kind == PrimKind::cast || (kind == PrimKind::real && !is_real) ||
                (kind == PrimKind::bits && is_real)) {
    return nullptr;
  } else {
    return &loop<P, T>;
  }
}

template <class T>
TENON_INLINE Stored<T> clamped(Stored<T> x, Stored<T> low, Stored<T> high) {
  const T raised = apply<T>(Prim::max, static_cast<T>(low), static_cast<T>(x));
  return static_cast<Stored<T>>(apply<T>(Prim::min, static_cast<T>(high), raised));
}
/// Bounds are constants most of the time.
template <class T>
void clamp_loop(const OpArgs& args) {
  const bool has_constant_bounds = args.splat[1] && args.splat[2] && args.rows == 1;
  if (has_constant_bounds) {
    const Stored<T> low = *static_cast<const Stored<T>*>(args.in[1]),
                    high = *static_cast<const Stored<T>*>(args.in[2]);
    return for_each_piece<T, T>(args, [=](Stored<T>* out, const Stored<T>* a, long n) {
      TENON_NO_OVERLAP
      for (long i = 0; i < n; ++i) out[i] = clamped<T>(a[i], low, high);
    });
  }
  for_each_piece<T, T, T, T>(
      args, [](Stored<T>* out, const Stored<T>* a, const Stored<T>* low, const Stored<T>* high, long n) {
        TENON_NO_OVERLAP
        for (long i = 0; i < n; ++i) out[i] = clamped<T>(a[i], low[i], high[i]);
      });
}

template <class Select, class T>
void select_loop(const OpArgs& args) {
  using S = Stored<T>;
  for_each_piece<T, T, T, T, T>(args, [](S* out, const S* a, const S* b, const S* c, const S* d, long n) {
    TENON_NO_OVERLAP
    for (long i = 0; i < n; ++i) out[i] = Select::run(a[i], b[i], c[i], d[i]);
  });
}

struct LoopsOfType {
  OpFn prim[prim_count];
};
template <class T, std::size_t... I>
constexpr LoopsOfType loops_of(std::index_sequence<I...>) {
  return {{loop_or_null<T, static_cast<Prim>(I)>()...}};
}
template <class T>
constexpr LoopsOfType loops = loops_of<T>(std::make_index_sequence<prim_count>{});

/// Does a cast go by way of integers of 64 bits, from or to floats?
template <class From, class To>
constexpr bool is_wide_cast = (std::is_same_v<From, std::int64_t> && std::is_floating_point_v<To>) ||
                              (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                               (sizeof(To) == 8 || std::is_same_v<To, std::uint32_t>));

template <class From, class To>
void cast_loop(const OpArgs& args) {
  using Out = HeldOf<To>;
  for_each_piece<Out, From>(args, [](Stored<Out>* out, const Stored<From>* a, long n) {
    if constexpr (!has_wide_casts && is_wide_cast<From, To>) {
      if (std::is_same_v<To, double> || fit_doubles(a, n)) {
        TENON_NO_OVERLAP
        for (long i = 0; i < n; ++i) {
          if constexpr (std::is_floating_point_v<To>)
            out[i] = static_cast<To>(double_of(a[i]));
          else
            out[i] = static_cast<Out>(static_cast<To>(integer_of(static_cast<double>(a[i]))));
        }
        return;
      }
    }
    long first = 0;
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> && !std::is_same_v<To, bool> &&
                  !is_wide_cast<From, To>)
      first = cut_vectors<To>(a, n, out);
    // Of bools the compiler makes no vector code, of integers it does.
    using Number = std::conditional_t<std::is_same_v<From, bool>, int, From>;
    TENON_NO_OVERLAP
    for (long i = first; i < n; ++i)
      out[i] =
          static_cast<Stored<Out>>(convert<Out>(convert<To>(static_cast<Number>(static_cast<From>(a[i])))));
  });
}

/// The floats of args.out, rounded to a type.
void round_in_place(const OpArgs& args, OpFn round) {
  OpArgs again = args;
  again.in[0] = args.out;
  again.in_pitch[0] = args.out_pitch;
  again.splat[0] = false;
  round(again);
}
template <class From, SmallFloatOps SimdOps::*Type>
void cast_and_round(const OpArgs& args) {
  cast_loop<From, float>(args);
  round_in_place(args, (loop_simd_ops().*Type).round);
}
template <class From>
OpFn cast_from(DType to) {
  switch (to) {
    case DType::f16: return &cast_and_round<From, &SimdOps::f16>;
    case DType::bf16: return &cast_and_round<From, &SimdOps::bf16>;
    case DType::f8e4m3fn: return &cast_and_round<From, &SimdOps::f8e4m3fn>;
    case DType::f8e5m2: return &cast_and_round<From, &SimdOps::f8e5m2>;
    case DType::f8e4m3fnuz: return &cast_and_round<From, &SimdOps::f8e4m3fnuz>;
    case DType::f8e5m2fnuz: return &cast_and_round<From, &SimdOps::f8e5m2fnuz>;
    default: break;
  }
  return dispatch_real(to, [](auto tag) -> OpFn {
    using To = typename decltype(tag)::type;
    if constexpr (is_small_float_element<To>)
      return nullptr;
    else
      return &cast_loop<From, To>;
  });
}

}  // namespace

OpFn loop_op_of_type(Prim p, DType type) {
  return dispatch_held(
      type, [&](auto tag) { return loops<typename decltype(tag)::type>.prim[static_cast<std::size_t>(p)]; });
}

OpFn loop_fused_op_of_type(Fused f, DType type) {
  return dispatch_held(type, [&](auto tag) -> OpFn {
    using T = typename decltype(tag)::type;
    if (f == Fused::clamp) return &clamp_loop<T>;
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      if (f == Fused::select_lt) return &select_loop<SelectLt, T>;
      if (f == Fused::select_le) return &select_loop<SelectLe, T>;
      if (f == Fused::select_eq) return &select_loop<SelectEq, T>;
    }
    return nullptr;
  });
}

OpFn loop_cast_op(DType from, DType to) {
  return dispatch_held(from, [&](auto source) { return cast_from<typename decltype(source)::type>(to); });
}

}  // namespace tenon::cpu::TENON_ISA
