// Lays buffers with known lifetimes out in one block of memory.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/layout.h"

namespace tenon {

/// A buffer is needed from step `first` to step `last`, both included.
struct Lifetime {
  std::size_t bytes = 0;
  int first = 0;
  int last = 0;
};

struct ArenaLayout {
  std::vector<std::size_t> offsets;  // one per lifetime
  std::size_t bytes = 0;
};

/// Buffers that live at the same time never overlap. Largest first, each into the tightest gap that holds it.
ArenaLayout lay_out(std::span<const Lifetime> lifetimes, const MemoryRules&);

}  // namespace tenon
