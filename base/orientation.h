// The sign of a vector of which the mathematics gives only the line.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace tenon {

/// -1 where the first large one of n numbers is negative, else 1: those of at least 0.6 of the largest are
/// large. A vector times this is the same on every device, however rounding went.
template <class Number>
double orientation(std::int64_t n, Number number) {
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::fabs(number(i)));
  for (std::int64_t i = 0; i < n; ++i)
    if (std::fabs(number(i)) >= 0.6 * largest) return number(i) < 0 ? -1 : 1;
  return 1;
}

}  // namespace tenon
