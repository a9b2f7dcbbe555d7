// Which buffers of a plan are needed at the same time.
#pragma once
#include "runtime/streams.h"

namespace tenon {

class BufferUses {
 public:
  /// Of steps of which these ranges start as a whole, and of so many buffers.
  BufferUses(std::span<const std::unique_ptr<Step>> steps, std::span<const RecordedRange> recorded,
             std::size_t buffers);

  /// False where all steps that touch the one come before all that touch the other.
  bool meet(std::size_t a, std::size_t b) const {
    return !uses_[a].is_within(before_[b]) && !uses_[b].is_within(before_[a]);
  }

 private:
  std::vector<StepSet> uses_, before_;  // of each buffer: steps that touch it, steps before all of these
};

}  // namespace tenon
