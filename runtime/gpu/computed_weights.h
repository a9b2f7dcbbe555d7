// Weights of convolutions that the graph computes.
#pragma once
#include <array>

#include "runtime/calls/conv.h"

namespace tenon::gpu {

/// What the axes of a convolution's weights count: groups, channels of a group that are read (depths) and
/// those that are computed (columns), and taps, which all spatial axes make together.
enum class WeightAxis { groups, depths, columns, taps };

/// The weights with their axes in this order, dense: a copy where they lie otherwise.
PlannedTensor computed_weights(Planner&, const ConvCall&, const std::array<WeightAxis, 4>& order);

}  // namespace tenon::gpu
