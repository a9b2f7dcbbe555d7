// Special functions of mathematics: rare, without kernels of their own.
#pragma once
#include "ir/ops/spans.h"

namespace tenon {

/// The functions of one operand, then those of two.
enum class SpecialFunction : std::uint8_t {
  airy_ai,
  bessel_j0,
  bessel_j1,
  bessel_y0,
  bessel_y1,
  i0,
  i0e,
  i1,
  i1e,
  k0,
  k0e,
  k1,
  k1e,
  spherical_j0,
  erfcx,
  log_ndtr,
  ndtri,
  trigamma,
  // f(x, n): polynomials of degree n (truncated to an integer)
  chebyshev_t,
  chebyshev_u,
  chebyshev_v,
  chebyshev_w,
  shifted_chebyshev_t,
  shifted_chebyshev_u,
  shifted_chebyshev_v,
  shifted_chebyshev_w,
  hermite_h,
  hermite_he,
  laguerre_l,
  legendre_p,
  // the others
  zeta,
  gammainc,
  gammaincc,
};
template <>
struct EnumNames<SpecialFunction> {
  static constexpr std::array names = {"airy_ai",
                                       "bessel_j0",
                                       "bessel_j1",
                                       "bessel_y0",
                                       "bessel_y1",
                                       "i0",
                                       "i0e",
                                       "i1",
                                       "i1e",
                                       "k0",
                                       "k0e",
                                       "k1",
                                       "k1e",
                                       "spherical_j0",
                                       "erfcx",
                                       "log_ndtr",
                                       "ndtri",
                                       "trigamma",
                                       "chebyshev_t",
                                       "chebyshev_u",
                                       "chebyshev_v",
                                       "chebyshev_w",
                                       "shifted_chebyshev_t",
                                       "shifted_chebyshev_u",
                                       "shifted_chebyshev_v",
                                       "shifted_chebyshev_w",
                                       "hermite_h",
                                       "hermite_he",
                                       "laguerre_l",
                                       "legendre_p",
                                       "zeta",
                                       "gammainc",
                                       "gammaincc"};
};

/// The function of each element, of floats; two operands broadcast. Computed in f64. Names are those of
/// torch.special and SciPy: k0e is exp(x) K0(x), gammainc(a, x) the regularised lower incomplete gamma
/// function.
struct Special : WithReference<1, 2> {
  static constexpr std::string_view name = "special";
  SpecialFunction function = SpecialFunction::i0;
  static constexpr auto fields = std::tuple{field("function", &Special::function)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The greatest common divisor of integers, not negative; operands broadcast.
struct Gcd : WithReference<2> {
  static constexpr std::string_view name = "gcd";
  Type infer(const Type& a, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
};

using SpecialOps = OpList<Special, Gcd>;

}  // namespace tenon
