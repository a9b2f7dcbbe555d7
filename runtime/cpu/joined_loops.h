// Loops that touch the same memory: two over the same points as one, and what lies side by side.
#pragma once
#include <optional>

#include "runtime/loop_builder.h"

namespace tenon {

/// The loop that computes what both do, neither of which touches what the other writes. nullopt unless both
/// run over the same points, reduce the same dims, have no indices, and take turns in the same lines of
/// memory, as the real and imaginary parts of complex numbers do: these would be read, or written, twice.
std::optional<LoweredLoop> joined(const LoweredLoop& first, const LoweredLoop& second);

/// The loop's program with one buffer for neighbouring elements of memory, as both parts of complex numbers:
/// the kernel moves these together.
LoopProgram with_neighbours(const LoweredLoop&);

}  // namespace tenon
