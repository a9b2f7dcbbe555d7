// Which steps must come after which others, by the memory that they read and write.
#pragma once
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "runtime/step.h"

namespace tenon {

enum class Hazard : std::uint8_t { read_after_write, write_after_read, write_after_write, full_device };

/// Step `step` comes after step `on`, an earlier one.
struct Dependency {
  std::size_t step = 0, on = 0;
  Hazard why = Hazard::read_after_write;
};

/// Of steps that run in this order, each pair of which one writes bytes that the other reads or writes, in
/// the order of `step`. Buffers of intermediate values count as if no two shared memory. What a step reports
/// as faults is its own. Pairs that are more than `most_apart` steps apart are left out: those of a long
/// chain in one buffer are many.
std::vector<Dependency> data_dependencies(std::span<const std::unique_ptr<Step>> steps,
                                          std::size_t most_apart = std::numeric_limits<std::size_t>::max());
/// Of steps that may run at once: those, and pairs that need scratch, which all write the same one.
std::vector<Dependency> dependencies(std::span<const std::unique_ptr<Step>> steps);

}  // namespace tenon
