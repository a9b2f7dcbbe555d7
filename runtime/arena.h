// Lays buffers out in one block of memory.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "kernels/function_ref.h"
#include "runtime/layout.h"

namespace tenon {

struct ArenaLayout {
  std::vector<std::size_t> offsets;  // one per buffer
  std::size_t bytes = 0;
};

/// Of buffers of so many bytes, those that meet (two numbers) never overlap. Largest first,
/// each into the tightest gap that holds it.
ArenaLayout lay_out(std::span<const std::size_t> bytes, FunctionRef<bool(std::size_t, std::size_t)> meet,
                    const MemoryRules&);

}  // namespace tenon
