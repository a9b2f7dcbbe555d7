// Special functions on vectors of doubles: plain loops without branches. Built once per ISA.
#include "kernels/cpu/math_double_gamma.h"
#include "kernels/cpu/math_double_special.h"
#include "kernels/cpu/special.h"

namespace tenon::cpu::TENON_ISA {
namespace {

/// Are all of them in the domain?
template <class Domain>
bool all(const SpecialPiece& p, Domain domain) {
  long outside = 0;
  for (long i = 0; i < p.count; i++) outside += domain(p.a[i]) ? 0 : 1;
  return outside == 0;
}
template <class F>
TENON_INLINE bool each(const SpecialPiece& p, F f) {
  const double* __restrict a = p.a;
  double* __restrict out = p.out;
  for (long i = 0; i < p.count; i++) out[i] = f(a[i]);
  return true;
}

template <int order, bool scaled, int bound>
bool bessel_below(const SpecialPiece& p) {
  return all(p, [](double x) { return __builtin_fabs(x) < bound; }) &&
         each(p, [](double x) { return double_bessel_i<order, scaled, bound>(x); });
}
template <int order, bool scaled>
bool bessel_i(const SpecialPiece& p) {
  return bessel_below<order, scaled, 8>(p) || bessel_below<order, scaled, 30>(p);
}

bool ndtri(const SpecialPiece& p) {
  if (all(p, [](double x) { return x > 0x1p-11 && x < 1 - 0x1p-11; })) return each(p, double_ndtri<true>);
  return all(p, [](double x) { return x > 0x1p-52 && x < 1; }) && each(p, double_ndtri<false>);
}

/// Of 0 < a, x: the series where x < a + 1, else the fraction, which gives the upper function.
template <bool of_series>
void gamma_groups(const SpecialPiece& p, const double* scales, bool upper) {
  double a[gamma_lanes], x[gamma_lanes], found[gamma_lanes];
  long places[gamma_lanes], count = 0;
  const auto compute = [&] {
    for (long i = count; i < gamma_lanes; ++i) a[i] = a[0], x[i] = x[0];
    of_series ? gamma_series(found, a, x, p.least) : gamma_fraction(found, a, x, p.least);
    for (long i = 0; i < count; ++i) {
      const double share = scales[places[i]] * found[i];
      p.out[places[i]] = upper == of_series ? 1 - share : share;
    }
    count = 0;
  };
  for (long i = 0; i < p.count; ++i) {
    if ((p.b[i] < p.a[i] + 1) != of_series) continue;
    a[count] = p.a[i], x[count] = p.b[i], places[count] = i;
    if (++count == gamma_lanes) compute();
  }
  if (count > 0) compute();
}
bool incomplete_gamma(const SpecialPiece& p, bool upper) {
  double scales[special_piece_size];
  for (long i = 0; i < p.count; ++i) {
    const double a = p.a[i], x = p.b[i];
    scales[i] = double_exp(a * double_log(x) - x - double_lgamma_of_positive(a));
  }
  gamma_groups<true>(p, scales, upper);
  gamma_groups<false>(p, scales, upper);
  return true;
}

}  // namespace

bool special_piece(const SpecialPiece& p) {
  switch (p.function) {
    case SpecialFunction::i0: return bessel_i<0, false>(p);
    case SpecialFunction::i0e: return bessel_i<0, true>(p);
    case SpecialFunction::i1: return bessel_i<1, false>(p);
    case SpecialFunction::i1e: return bessel_i<1, true>(p);
    case SpecialFunction::ndtri: return ndtri(p);
    case SpecialFunction::gammainc: return incomplete_gamma(p, false);
    case SpecialFunction::gammaincc: return incomplete_gamma(p, true);
    default: return false;
  }
}

}  // namespace tenon::cpu::TENON_ISA
