// Convolutions whose groups have few channels (depthwise ones), by a kernel that reads the input as it lies.
#pragma once
#include <optional>

#include "runtime/calls/conv.h"

namespace tenon::gpu {

/// nullopt: it has one group, or what is behind it has no kernel.
std::optional<Candidate> thin_convolution(const Planner&, const Group&, const ConvCall&);

}  // namespace tenon::gpu
