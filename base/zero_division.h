// Integers divided by zero: refused where an expression is computed, as PyTorch refuses it.
#pragma once
#include "base/error.h"

namespace tenon {

[[noreturn]] inline void refuse_zero_divisor() {
  throw Error("ZeroDivisionError: an integer is divided by zero")
      .hint("give inputs that keep the divisor from being 0");
}

}  // namespace tenon
