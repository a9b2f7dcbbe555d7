#include "base/zero_division.h"

#include "base/zero_division_error.h"

namespace tenon {

Error zero_division_error() {
  return Error("ZeroDivisionError: an integer is divided by zero")
      .hint("give inputs that keep the divisor from being 0");
}

void refuse_zero_divisor() { throw zero_division_error(); }

}  // namespace tenon
