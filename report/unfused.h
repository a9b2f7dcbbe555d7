// The model without fused groups, beside the fused one.
#pragma once
#include "report/profile.h"

namespace tenon {

/// Runs the imported graph, cleaned up but not grouped, and the fused one by turns. The model must be a
/// source.
Unfused measure_unfused(const Model&, Session& fused, std::span<const Tensor> inputs,
                        const InterleaveOptions& = {});

}  // namespace tenon
