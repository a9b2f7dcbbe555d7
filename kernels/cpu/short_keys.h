// Keys of 64 bits are mostly numbers of a few: their distances from the least one are short keys. Per-ISA
// code.
#pragma once
#include <cstdint>

#include "kernels/cpu/simd_lanes.h"

namespace tenon::cpu::TENON_ISA {

/// The distances of n > 0 keys from the least one, which may be written over the keys; false, and none, where
/// they have more than 32 bits.
static TENON_INLINE bool shorten(const std::uint64_t* keys, long n, std::uint32_t* distances) {
  using L = Lanes<std::uint64_t>;
  typedef std::uint32_t Short __attribute__((vector_size(VL * 2), aligned(4), may_alias));
  typedef std::uint32_t One __attribute__((may_alias));
  std::uint64_t least = keys[0], largest = keys[0];
  constexpr long at_once = 1024;
  for (long first = 0; first < n; first += at_once) {
    const long last = first + at_once < n ? first + at_once : n;
    for (long i = first; i < last; ++i) {
      least = keys[i] < least ? keys[i] : least;
      largest = keys[i] > largest ? keys[i] : largest;
    }
    if ((largest - least) >> 32 != 0) return false;
  }
  long i = 0;
  for (; i + L::count <= n; i += L::count) {
    const L::V distance = L::load(keys + i) - least;
    *reinterpret_cast<Short*>(distances + i) = __builtin_convertvector(distance, Short);
  }
  for (; i < n; ++i) reinterpret_cast<One*>(distances)[i] = static_cast<std::uint32_t>(keys[i] - least);
  return true;
}

}  // namespace tenon::cpu::TENON_ISA
