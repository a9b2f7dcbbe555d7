// Integers divided by zero: refused where an expression is computed, as PyTorch refuses it.
#pragma once
#include "base/error.h"
#include "base/scalar.h"

namespace tenon {

/// True for the primitives that divide integers by their second operand.
constexpr bool divides(Prim p) {
  return p == Prim::div || p == Prim::floor_div || p == Prim::trunc_div || p == Prim::remainder ||
         p == Prim::fmod;
}

[[noreturn]] inline void refuse_zero_divisor() {
  throw Error("ZeroDivisionError: an integer is divided by zero")
      .hint("give inputs that keep the divisor from being 0");
}

}  // namespace tenon
