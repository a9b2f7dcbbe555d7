#include "base/zero_division.h"

#include "base/error.h"

namespace tenon {

void refuse_zero_divisor() {
  throw Error("ZeroDivisionError: an integer is divided by zero")
      .hint("give inputs that keep the divisor from being 0");
}

}  // namespace tenon
