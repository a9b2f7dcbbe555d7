// sigmoid(x) = 1 / (1 + exp(-x)), silu(x) = x * sigmoid(x), hardswish(x) = x * clamp(x + 3, 0, 6) / 6.
#include "fusion/rules/rules.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/math.h"

namespace tenon {
namespace {

const Pattern x = hole("x");
const Pattern one_plus_exp = op<Exp>(op<Neg>(x)) + 1.0;
const Pattern clamped = op<Clamp>(x + 3.0);
constexpr double sixth = 1.0 / 6;

template <class T>
Ref of_x(const Match& m, const InsertionPoint& point) {
  return apply(T{}, {Ref(m["x"], point)});
}

bool is_float_x(const Match& m) { return is_float(m["x"]->dtype()); }

bool clamps_to_six(const Match& m) {
  const Clamp& clamp = m.op<Clamp>();
  return is_float_x(m) && clamp.min == 0 && clamp.max == 6;
}

}  // namespace

Rule raise_sigmoid() {
  return {.name = "sigmoid",
          .patterns = {op<Reciprocal>(one_plus_exp), Pattern(1.0) / one_plus_exp},
          .when = is_float_x,
          .build = of_x<Sigmoid>};
}

Rule raise_silu() {
  return {.name = "silu",
          .patterns = {x * op<Sigmoid>(x), x / one_plus_exp},
          .when = is_float_x,
          .build = of_x<Silu>};
}

Rule raise_hardsigmoid() {
  return {.name = "hardsigmoid",
          .patterns = {clamped * sixth},
          .when = clamps_to_six,
          .build = of_x<Hardsigmoid>};
}

Rule raise_hardswish() {
  return {.name = "hardswish",
          .patterns = {(x * clamped) * sixth, x * (clamped * sixth), (x * sixth) * clamped},
          .when = clamps_to_six,
          .build = of_x<Hardswish>};
}

Rule hardswish_of_hardsigmoid() {
  return {.name = "hardswish_of_hardsigmoid",
          .patterns = {x * op<Hardsigmoid>(x)},
          .when = is_float_x,
          .build = of_x<Hardswish>};
}

Rule clamp_of_clamp() {
  return {.name = "clamp_of_clamp",
          .patterns = {op<Clamp>(op<Clamp>(x))},
          .when =
              [](const Match& m) {
                // The outer one is from above, the inner one from below, and they leave something.
                const Clamp &outer = m.op<Clamp>(0), &inner = m.op<Clamp>(1);
                return !outer.min && outer.max && inner.min && !inner.max && *inner.min <= *outer.max;
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                return apply(Clamp{.min = m.op<Clamp>(1).min, .max = m.op<Clamp>(0).max},
                             {Ref(m["x"], point)});
              }};
}

}  // namespace tenon
