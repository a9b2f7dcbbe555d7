// Random words by Philox 4x32-10.
#pragma once
#include <array>
#include <cstdint>

#include "base/philox_rounds.h"

namespace tenon {

using PhiloxBlock = std::array<std::uint32_t, 4>;

constexpr PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  philox_rounds(counter.data(), key[0], key[1]);
  return counter;
}

}  // namespace tenon
