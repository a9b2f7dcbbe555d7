// What a step sees while a plan runs: where each buffer lies, its memory, and the queue it runs in.
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

#include "ir/tensor.h"
#include "runtime/queue.h"

namespace tenon {

class CommandLists;

/// A place in one of a plan's buffers.
struct Address {
  std::size_t buffer = 0;
  std::ptrdiff_t offset = 0;  // bytes
};

/// What a kernel found wrong in the data. Kernels do not stop a run: it is read when the run is done. It lies
/// in memory that the host and the device read.
struct Fault {
  std::int64_t found = 0;
  std::int64_t value = 0;
  std::int64_t detail = 0;  // what else the step needs to say it

  /// The first one counts.
  void report(std::int64_t what, std::int64_t more = 0) {
    if (!found) *this = {1, what, more};
  }
};

inline bool any_found(std::span<const Fault> faults) {
  return std::any_of(faults.begin(), faults.end(), [](const Fault& f) { return f.found != 0; });
}

struct Frame {
  /// By number, each in its buffer's space; read-only ones (inputs, constants) are not written to.
  std::span<std::byte* const> buffers;
  std::byte* scratch = nullptr;       // of the device, as large as the plan's steps asked for
  std::byte* host_scratch = nullptr;  // the same, pinned
  Queue& queue;
  std::span<Fault> faults = {};   // of the plan's steps
  std::span<Tensor> values = {};  // of plans whose sizes are given while they run
  CommandLists* lists = nullptr;  // of the memory that this run takes, for plans inside of steps

  std::byte* at(const Address& address) const { return buffers[address.buffer] + address.offset; }
};

}  // namespace tenon
