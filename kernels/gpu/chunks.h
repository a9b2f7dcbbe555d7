// Chunks of 16 bytes, which a thread reads at once.
#pragma once
#include <cstdint>
#include <vector>

#include "base/dtype.h"

namespace tenon::gpu {

/// How many elements that lie side by side are read at once, when all these distances (in elements, from an
/// aligned address to the first of them and from one to the next) may come between two reads: 16 bytes or
/// one.
inline int chunk_elements(DType dtype, const std::vector<std::int64_t>& distances) {
  const auto chunk = static_cast<std::int64_t>(16 / size_of(dtype));
  for (const std::int64_t distance : distances)
    if (distance % chunk != 0) return 1;
  return static_cast<int>(chunk);
}

}  // namespace tenon::gpu
