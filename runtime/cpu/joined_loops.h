// Two loops over the same points as one.
#pragma once
#include <optional>

#include "runtime/loop_builder.h"

namespace tenon {

/// The loop that computes what both do, neither of which touches what the other writes. nullopt unless both
/// run over the same points, without reductions and indices, and take turns in the same lines of memory, as
/// the real and imaginary parts of complex numbers do: these would be read, or written, twice.
std::optional<LoweredLoop> joined(const LoweredLoop& first, const LoweredLoop& second);

}  // namespace tenon
