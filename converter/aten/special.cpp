// Special functions of mathematics.
#include "ir/ops/special.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"

namespace tenon::converter {

namespace {

using enum SpecialFunction;

template <SpecialFunction function>
Results of_one(Call& call) {
  return apply(Special{.function = function}, {real_operand(call, call.find("self") ? "self" : "x")});
}

template <SpecialFunction function>
Results of_two(Call& call) {
  const bool polynomial = call.find("n") != nullptr;
  const std::array given = {call.value(polynomial ? "x" : "self"), call.value(polynomial ? "n" : "other")};
  return tenon::apply(Special{.function = function}, promoted(call.build, given, true));
}

Ref polygamma_of(std::int64_t n, const Ref& x) {
  if (n < 0) throw error("polygamma of order {}", n);
  if (n == 0) return digamma(x);
  if (n == 1) return apply(Special{.function = trigamma}, {x});
  const double factor = (n % 2 == 0 ? -1 : 1) * std::tgamma(static_cast<double>(n + 1));
  return apply(Special{.function = zeta}, {x.literal(static_cast<double>(n + 1)), x}) * factor;
}
Results polygamma(Call& call) { return polygamma_of(call.integer("n"), real_operand(call, "self")); }

/// log of the multivariate gamma function.
Results mvlgamma(Call& call) {
  const Ref x = real_operand(call, "self");
  const auto p = static_cast<double>(call.integer("p"));
  Ref y = x.literal(p * (p - 1) / 4 * std::log(std::numbers::pi));
  for (double i = 0; i < p; ++i) y = apply(Lgamma{}, {x - i / 2}) + y;
  return y;
}

Results entr(Call& call) {
  const Ref x = real_operand(call, "self");
  const Ref zero = x.literal(0);
  const Ref below = where(equal(x, zero), zero, x.literal(-std::numeric_limits<double>::infinity()));
  return where(apply(IsNan{}, {x}), x, where(x > zero, -x * log(x), below));
}

Results ndtr(Call& call) {
  const Ref x = real_operand(call, "self");
  return apply(Erfc{}, {x * (-1 / std::numbers::sqrt2)}) * 0.5;
}

Results xlog1py(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  const auto x = promoted(call.build, given, true);
  const Ref zero = x[0].literal(0);
  return where(apply(IsNan{}, {x[1]}), x[1], where(equal(x[0], zero), zero, x[0] * log1p(x[1])));
}

std::vector<Ref> integers_of(Call& call) {
  const std::array given = {call.value("self"), call.value("other")};
  return promoted(call.build, given);
}
Results gcd(Call& call) { return tenon::apply(Gcd{}, integers_of(call)); }
Results lcm(Call& call) {
  std::vector<Ref> x = integers_of(call);
  const DType dtype = x[0].dtype();
  if (size_of(dtype) < 4)  // a product of C's ints, whose sign is taken before it is cut
    for (Ref& operand : x) operand = cast(DType::i32, operand);
  const Ref divisor = tenon::apply(Gcd{}, x);
  const Ref none = equal(divisor, divisor.literal(0));
  return cast(dtype, abs(apply(FloorDiv{}, {x[0], where(none, divisor.literal(1), divisor)}) * x[1]));
}

constexpr AtenEntry special_table[] = {
    {"gcd", gcd},
    {"lcm", lcm},
    {"special_airy_ai", of_one<airy_ai>},
    {"special_bessel_j0", of_one<bessel_j0>},
    {"special_bessel_j1", of_one<bessel_j1>},
    {"special_bessel_y0", of_one<bessel_y0>},
    {"special_bessel_y1", of_one<bessel_y1>},
    {"i0", of_one<i0>},
    {"special_i0", of_one<i0>},
    {"special_modified_bessel_i0", of_one<i0>},
    {"special_i0e", of_one<i0e>},
    {"special_i1", of_one<i1>},
    {"special_modified_bessel_i1", of_one<i1>},
    {"special_i1e", of_one<i1e>},
    {"special_modified_bessel_k0", of_one<k0>},
    {"special_scaled_modified_bessel_k0", of_one<k0e>},
    {"special_modified_bessel_k1", of_one<k1>},
    {"special_scaled_modified_bessel_k1", of_one<k1e>},
    {"special_spherical_bessel_j0", of_one<spherical_j0>},
    {"special_erfcx", of_one<erfcx>},
    {"special_log_ndtr", of_one<log_ndtr>},
    {"special_ndtri", of_one<ndtri>},
    {"special_chebyshev_polynomial_t", of_two<chebyshev_t>},
    {"special_chebyshev_polynomial_u", of_two<chebyshev_u>},
    {"special_chebyshev_polynomial_v", of_two<chebyshev_v>},
    {"special_chebyshev_polynomial_w", of_two<chebyshev_w>},
    {"special_shifted_chebyshev_polynomial_t", of_two<shifted_chebyshev_t>},
    {"special_shifted_chebyshev_polynomial_u", of_two<shifted_chebyshev_u>},
    {"special_shifted_chebyshev_polynomial_v", of_two<shifted_chebyshev_v>},
    {"special_shifted_chebyshev_polynomial_w", of_two<shifted_chebyshev_w>},
    {"special_hermite_polynomial_h", of_two<hermite_h>},
    {"special_hermite_polynomial_he", of_two<hermite_he>},
    {"special_laguerre_polynomial_l", of_two<laguerre_l>},
    {"special_legendre_polynomial_p", of_two<legendre_p>},
    {"special_zeta", of_two<zeta>},
    {"igamma", of_two<gammainc>},
    {"special_gammainc", of_two<gammainc>},
    {"igammac", of_two<gammaincc>},
    {"special_gammaincc", of_two<gammaincc>},
    {"polygamma", polygamma, HalfPrecision::in_f32},
    {"special_polygamma", polygamma, HalfPrecision::in_f32},
    {"mvlgamma", mvlgamma, HalfPrecision::in_f32},
    {"special_multigammaln", mvlgamma, HalfPrecision::in_f32},
    {"special_entr", entr, HalfPrecision::in_f32},
    {"special_ndtr", ndtr, HalfPrecision::in_f32},
    {"special_xlog1py", xlog1py, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> special_entries() { return special_table; }

}  // namespace tenon::converter
