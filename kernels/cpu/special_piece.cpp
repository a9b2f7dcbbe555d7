// Special functions on vectors of doubles: plain loops without branches. Built once per ISA.
#include "kernels/cpu/math_double_airy.h"
#include "kernels/cpu/math_double_bessel.h"
#include "kernels/cpu/math_double_gamma.h"
#include "kernels/cpu/math_double_modified_bessel.h"
#include "kernels/cpu/math_double_normal.h"
#include "kernels/cpu/math_double_zeta.h"
#include "kernels/cpu/special.h"
#include "kernels/cpu/special_polynomials.h"
#include "kernels/cpu/special_regions.h"

namespace tenon::cpu::TENON_ISA {
namespace {

constexpr double largest_number = 0x1p1000;

template <int order>
long bessel_j(const SpecialPiece& p) {
  return by_region(
      p,
      [](double x) {
        const double m = __builtin_fabs(x);
        return m <= bessel_wave ? 0.0 : m <= largest_double_angle ? 1.0 : 2.0;
      },
      each([](double x) { return double_bessel_j_near<order>(x); }),
      each([](double x) { return double_bessel_far<order, false>(x); }));
}
template <int order>
long bessel_y(const SpecialPiece& p) {
  return by_region(
      p,
      [](double x) {
        const double positive = x <= bessel_wave ? 0.0 : x <= largest_double_angle ? 1.0 : 3.0;
        return x >= 0x1p-1000 ? positive : x > 0 ? 3.0 : 2.0;
      },
      each([](double x) { return double_bessel_y_near<order>(x); }),
      each([](double x) { return double_bessel_far<order, true>(x); }),
      each([](double x) { return x == 0 ? -__builtin_inf() : __builtin_nan(""); }));
}
long spherical_j0(const SpecialPiece& p) {
  return by_region(
      p, [](double x) { return __builtin_fabs(x) <= largest_double_angle ? 0.0 : 1.0; },
      each([](double x) { return double_spherical_j0(x); }));
}

template <int order, bool scaled>
long bessel_i(const SpecialPiece& p) {
  const bool is_rough = scaled && p.least > 0x1p-40;
  const double far_from = is_rough ? bessel_ie_far : bessel_i_far;
  const auto region = [=](double x) {
    const double m = __builtin_fabs(x);
    return m <= far_from ? 0.0 : m < largest_number ? 1.0 : 2.0;
  };
  const auto far = each([](double x) { return double_bessel_i_far<order, scaled>(x); });
  if (is_rough)
    return by_region(p, region, each([](double x) { return double_bessel_ie_for_f32<order>(x); }), far);
  return by_region(p, region, each([](double x) { return double_bessel_i_near<order, scaled>(x); }), far);
}
template <int order, bool scaled>
long bessel_k(const SpecialPiece& p) {
  return by_region(
      p,
      [](double x) {
        const double positive = x <= 1 ? 0.0 : x < largest_number ? 1.0 : 3.0;
        return x > 0 ? positive : 2.0;
      },
      each([](double x) { return double_bessel_k_near<order, scaled>(x); }),
      each([](double x) { return double_bessel_k_far<order, scaled>(x); }),
      each([](double x) { return x == 0 ? __builtin_inf() : __builtin_nan(""); }));
}

long airy_ai(const SpecialPiece& p) {
  return by_region(
      p,
      [](double x) {
        const double above = x < airy_decay ? 2.0 : x < 103.8 ? 3.0 : 4.0;
        const double below = x < airy_wave ? 0.0 : 1.0;
        return x >= -10000 ? x < airy_middle ? below : above : 4.0;
      },
      each([](double x) { return double_airy_wave(x); }),
      each([](double x) { return double_airy_middle(x); }),
      each([](double x) { return double_airy_near(x); }),
      each([](double x) { return double_airy_decay(x); }));
}

long erfcx(const SpecialPiece& p) {
  return by_region(
      p, [](double x) { return x >= 0                ? x < largest_number ? 0.0 : 2.0
                               : x > -largest_number ? 1.0
                                                     : 2.0; },
      each([](double x) { return double_erfcx_of_positive(x); }),
      each([](double x) { return double_erfcx(x); }));
}
long log_ndtr(const SpecialPiece& p) {
  return by_region(
      p, [](double x) { return x >= 0         ? 0.0
                               : x > -0x1p500 ? 1.0
                                              : 2.0; },
      each([](double x) { return double_log_ndtr_above(x); }),
      each([](double x) { return double_log_ndtr_below(x); }));
}
long ndtri(const SpecialPiece& p) {
  return by_region(
      p,
      [](double x) {
        const bool is_near = x > 0x1p-11 && x < 1 - 0x1p-11;
        return is_near ? 0.0 : x > 0x1p-52 && x < 1 ? 1.0 : 2.0;
      },
      each([](double x) { return double_ndtri<true>(x); }),
      each([](double x) { return double_ndtri<false>(x); }));
}

long trigamma(const SpecialPiece& p) {
  return by_region(
      p,
      [](double x) {
        const double below = __builtin_fabs(x) >= 0x1p-500 && x > -0x1p50 ? 1.0 : 2.0;
        return x >= 0.5 ? x < largest_number ? 0.0 : 2.0 : double_from_whole(x) == 0 ? 2.0 : below;
      },
      each([](double x) { return double_trigamma_of_positive(x); }),
      each([](double x) { return double_trigamma_below(x); }));
}
template <bool for_f32>
void zeta_block(const SpecialBlock& block) {
  double_zeta<for_f32>(block.out, block.a, block.b, block.count);
}
long zeta(const SpecialPiece& p) {
  return by_region(
      p,
      [](double s, double q) {
        const bool has_terms = s > 1 && s < 1000 && q < 0x1p100;
        const bool is_below = q > -50 && double_from_whole(q) != 0 && double_from_whole(s) == 0;
        const double of_terms = q > 0x1p-500 ? 0.0 : is_below ? 1.0 : 3.0;
        return has_terms ? of_terms : s < 1 ? 2.0 : 3.0;
      },
      p.least > 0x1p-40 ? zeta_block<true> : zeta_block<false>,
      p.least > 0x1p-40 ? zeta_block<true> : zeta_block<false>, each(no_number));
}

/// Of 0 < a, x: the series where x < a + 1, else the fraction, which gives the upper function.
template <bool of_series>
void gamma_groups(const SpecialBlock& block, bool upper) {
  for (long i = 0; i < block.count; i += gamma_lanes) {
    double a[gamma_lanes], x[gamma_lanes], found[gamma_lanes];  // which no store can change
    for (long lane = 0; lane < gamma_lanes; ++lane) a[lane] = block.a[i + lane], x[lane] = block.b[i + lane];
    of_series ? gamma_series(found, a, x, block.least) : gamma_fraction(found, a, x, block.least);
    for (long lane = 0; lane < gamma_lanes; ++lane) block.out[i + lane] = found[lane];
  }
  double scales[special_piece_size];
  each([](double a, double x) { return double_exp(a * double_log(x) - x - double_lgamma_of_positive(a)); })(
      {.out = scales, .a = block.a, .b = block.b, .count = block.count, .least = block.least});
  for (long i = 0; i < block.count; ++i) {
    const double share = scales[i] * block.out[i];
    block.out[i] = upper == of_series ? 1 - share : share;
  }
}
long incomplete_gamma(const SpecialPiece& p, bool upper) {
  return by_region(
      p,
      [](double a, double x) {  // where its sums are of few terms
        const bool is_inside = a > 0x1p-500 && a < 200 && x > 0x1p-500 && x < 1000;
        const double outside = a < 0 || x < 0 ? 2.0 : 3.0;
        return is_inside ? x < a + 1 ? 0.0 : 1.0 : outside;
      },
      [=](const SpecialBlock& block) { gamma_groups<true>(block, upper); },
      [=](const SpecialBlock& block) { gamma_groups<false>(block, upper); }, each(no_number));
}

long hermite_h(const SpecialPiece& p) {
  return by_degree(
      p, [](auto x) { return 2 * x; },
      [](double k, auto x, auto now, auto before) { return 2 * x * now - 2 * k * before; });
}
long hermite_he(const SpecialPiece& p) {
  return by_degree(
      p, [](auto x) { return x; },
      [](double k, auto x, auto now, auto before) { return x * now - k * before; });
}
long laguerre_l(const SpecialPiece& p) {
  return by_degree(
      p, [](auto x) { return 1 - x; },
      [](double k, auto x, auto now, auto before) {
        const double inverse = 1 / (k + 1);
        return ((2 * k + 1 - x) * now - k * before) * inverse;
      });
}
long legendre_p(const SpecialPiece& p) {
  return by_degree(
      p, [](auto x) { return x; },
      [](double k, auto x, auto now, auto before) {
        const double inverse = 1 / (k + 1);
        return ((2 * k + 1) * x * now - k * before) * inverse;
      });
}
template <bool shifted>
long chebyshev_kinds(const SpecialPiece& p, double slope, double start) {
  return chebyshev<shifted>(p, [=](auto x) { return slope * x + start; });
}

}  // namespace

long special_piece(const SpecialPiece& p) {
  switch (p.function) {
    case SpecialFunction::airy_ai: return airy_ai(p);
    case SpecialFunction::bessel_j0: return bessel_j<0>(p);
    case SpecialFunction::bessel_j1: return bessel_j<1>(p);
    case SpecialFunction::bessel_y0: return bessel_y<0>(p);
    case SpecialFunction::bessel_y1: return bessel_y<1>(p);
    case SpecialFunction::i0: return bessel_i<0, false>(p);
    case SpecialFunction::i0e: return bessel_i<0, true>(p);
    case SpecialFunction::i1: return bessel_i<1, false>(p);
    case SpecialFunction::i1e: return bessel_i<1, true>(p);
    case SpecialFunction::k0: return bessel_k<0, false>(p);
    case SpecialFunction::k0e: return bessel_k<0, true>(p);
    case SpecialFunction::k1: return bessel_k<1, false>(p);
    case SpecialFunction::k1e: return bessel_k<1, true>(p);
    case SpecialFunction::spherical_j0: return spherical_j0(p);
    case SpecialFunction::erfcx: return erfcx(p);
    case SpecialFunction::log_ndtr: return log_ndtr(p);
    case SpecialFunction::ndtri: return ndtri(p);
    case SpecialFunction::trigamma: return trigamma(p);
    case SpecialFunction::chebyshev_t: return chebyshev_kinds<false>(p, 1, 0);
    case SpecialFunction::chebyshev_u: return chebyshev_kinds<false>(p, 2, 0);
    case SpecialFunction::chebyshev_v: return chebyshev_kinds<false>(p, 2, -1);
    case SpecialFunction::chebyshev_w: return chebyshev_kinds<false>(p, 2, 1);
    case SpecialFunction::shifted_chebyshev_t: return chebyshev_kinds<true>(p, 1, 0);
    case SpecialFunction::shifted_chebyshev_u: return chebyshev_kinds<true>(p, 2, 0);
    case SpecialFunction::shifted_chebyshev_v: return chebyshev_kinds<true>(p, 2, -1);
    case SpecialFunction::shifted_chebyshev_w: return chebyshev_kinds<true>(p, 2, 1);
    case SpecialFunction::hermite_h: return hermite_h(p);
    case SpecialFunction::hermite_he: return hermite_he(p);
    case SpecialFunction::laguerre_l: return laguerre_l(p);
    case SpecialFunction::legendre_p: return legendre_p(p);
    case SpecialFunction::zeta: return zeta(p);
    case SpecialFunction::gammainc: return incomplete_gamma(p, false);
    case SpecialFunction::gammaincc: return incomplete_gamma(p, true);
  }
  __builtin_unreachable();
}

}  // namespace tenon::cpu::TENON_ISA
