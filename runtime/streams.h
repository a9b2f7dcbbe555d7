// In which streams the steps of a plan run that start together.
#pragma once
#include "runtime/dependencies.h"
#include "runtime/queue.h"
#include "runtime/step_order.h"

namespace tenon {

/// Steps of a plan: those from `begin` to before `end`.
struct StepRange {
  std::size_t begin = 0, end = 0;
};

/// Steps that a device that records starts at once, and the place of each.
struct RecordedRange : StepRange {
  std::vector<StreamPlace> places;
};

/// Places for `steps` steps in at most `most` streams. A step continues a stream that ends with a step it
/// depends on, or begins a new one; it waits only for what nothing else implies. The dependencies are in the
/// order of `step`.
std::vector<StreamPlace> assign_streams(std::size_t steps, std::span<const Dependency> dependencies,
                                        std::size_t most);
std::size_t count_streams(std::span<const StreamPlace> places);
/// Steps of the longest chain.
std::size_t depth(std::span<const StreamPlace> places);

/// The longest runs of more than one step that only enqueue: no reference, no if or loop. In each, steps that
/// fill the device (Step::fills_device) come one after the other.
std::vector<RecordedRange> recorded_ranges(std::span<const std::unique_ptr<Step>> steps,
                                           std::size_t most_streams);
/// The order of a plan's steps, of which these ranges start as a whole.
StepOrder order_of(std::size_t steps, std::span<const RecordedRange> ranges);

}  // namespace tenon
