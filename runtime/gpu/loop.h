// Loop programs on a GPU: each is printed as the source of a kernel, which is compiled once for all sizes.
#pragma once
#include "kernels/gpu/loop_form.h"
#include "runtime/gpu/step.h"
#include "runtime/loop_builder.h"
#include "runtime/planner.h"

namespace tenon::gpu {

Gpu& gpu_of(Planner&);
GpuLimits limits_of(const Gpu&);

std::vector<Candidate> lower_loop(const Planner&, const Group&);

/// The step that runs a loop.
std::unique_ptr<LaunchStep> make_loop_step(Gpu&, const LoweredLoop&);
/// Copies elements between two tensors of one type and shape.
std::unique_ptr<Step> make_copy(Gpu&, const PlannedTensor& from, const PlannedTensor& to);

}  // namespace tenon::gpu
