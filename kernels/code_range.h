// What codes of weights and their zero points lie in.
#pragma once
#include <cstdint>

namespace tenon {

/// Bounds that are reached.
struct CodeRange {
  std::int64_t least_code = 0, largest_code = 0;
  std::int64_t least_zero = 0, largest_zero = 0;

  bool has_one_zero() const { return least_zero == largest_zero; }
  /// Four bits are enough for what the codes exceed the least one by.
  bool fits_four_bits() const { return largest_code - least_code < 16; }
};

}  // namespace tenon
