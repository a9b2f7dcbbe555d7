// gelu(x) = x/2 * (1 + erf(x / sqrt 2)), and its tanh form (Hendrycks and Gimpel 2016).
#include <numbers>

#include "fusion/rules/rules.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"

namespace tenon {
namespace {

const Pattern x = hole("x");

// The three ways to bracket x * 0.5 * (1 + f).
std::vector<Pattern> half_x_times(const Pattern& f) {
  const Pattern one_plus = f + 1.0;
  return {(x * 0.5) * one_plus, x * (one_plus * 0.5), (x * one_plus) * 0.5};
}

}  // namespace

Rule raise_gelu() {
  return {.name = "gelu",
          .patterns = half_x_times(op<Erf>(x * (1 / std::numbers::sqrt2))),
          .build = [](const Match& m, const InsertionPoint& point) {
            return apply(Gelu{}, {Ref(m["x"], point)});
          }};
}

Rule raise_gelu_tanh() {
  const Pattern sqrt_2_over_pi = 0.79788456080286535588;
  std::vector<Pattern> patterns;
  for (const Pattern& cube : {x * x * x, x * (x * x), op<Pow>(x, 3.0)})
    for (const Pattern& inner : {x + cube * 0.044715, x * (x * x * 0.044715 + 1.0)})
      for (const Pattern& p : half_x_times(op<Tanh>(inner * sqrt_2_over_pi))) patterns.push_back(p);
  for (const Pattern& square : {x * x * 0.044715, (x * 0.044715) * x})
    for (const Pattern& p : half_x_times(op<Tanh>((x * sqrt_2_over_pi) * (square + 1.0))))
      patterns.push_back(p);
  return {.name = "gelu_tanh",
          .patterns = std::move(patterns),
          .build = [](const Match& m, const InsertionPoint& point) {
            return apply(Gelu{.approximate = GeluForm::tanh}, {Ref(m["x"], point)});
          }};
}

}  // namespace tenon
