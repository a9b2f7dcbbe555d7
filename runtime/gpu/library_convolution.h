// Convolutions by the vendor's library (dnn.h) as candidates.
#pragma once
#include "runtime/calls/conv.h"

namespace tenon::gpu {

/// Adds the library's candidate behind ours, if there is a library for it. Where the library turns out to
/// have no algorithm, or a tensor lies otherwise than it reads, ours runs.
void add_library_convolution(const Planner&, const Group&, const ConvCall&,
                             std::vector<Candidate>& candidates);

}  // namespace tenon::gpu
