// What the lowerings of several launches have in common.
#pragma once
#include "runtime/gpu/queue.h"
#include "runtime/gpu/step.h"
#include "runtime/planner.h"

namespace tenon::gpu {

/// The bytes of a struct whose fields are 64-bit integers.
std::vector<std::byte> struct_of(std::span<const std::int64_t> fields);
/// A grid of so many blocks in one dimension.
LaunchSize blocks_of(std::int64_t count, int threads);
/// So many that each of `count` elements has a thread.
LaunchSize threads_for(std::int64_t count, int threads = 256);

/// What a launch computes and what it is called in the plan.
struct Launch {
  std::string name;
  LaunchStep::Kernel kernel;
  std::vector<PlannedTensor> reads, writes;
};
/// Adds it on behalf of the node that is being planned.
void prepare(Planner&, Launch);
/// Adds the launch that computes the node.
void emit(Planner&, const Node&, Launch);

/// The value as a tensor of this shape, in which strides may be anything; a dense copy of it where there is
/// no such view.
PlannedTensor viewed(Planner&, const Value*, const Index& shape);
/// The same of any tensor, on behalf of the node that is being planned.
PlannedTensor dense(Planner&, const PlannedTensor&);

/// What gives its first operand as it is.
std::vector<Candidate> copy_of_first(const Planner&, const Group&);

/// Elements as integers of their size, for kernels that copy them: nullopt where there is none.
std::optional<DType> bits_of(DType);

}  // namespace tenon::gpu
