// Copies between pageable memory of the host and a device that does not see it, through pinned memory.
#pragma once
#include <cstddef>
#include <span>

#include "runtime/queue.h"

namespace tenon {

/// How much pinned memory serves copies of so many bytes: all of it, up to some MiB.
std::size_t stage_bytes(std::size_t bytes);

/// Copies to the device in pieces: while one is under way, the host fills the next. The stage must be of
/// pinned memory, and free until the queue is done.
class Uploads {
 public:
  Uploads(Queue& queue, std::span<std::byte> stage) : queue_(queue), stage_(stage) {}
  /// Enqueued when it returns; `from` is not needed any more then.
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);

 private:
  Queue& queue_;
  std::span<std::byte> stage_;
  std::size_t used_ = 0;
};

/// Copies to the host in pieces: while one is under way, the host reads the one before. Done when it returns.
void download(Queue& queue, std::span<std::byte> stage, std::byte* to, const std::byte* from,
              std::size_t bytes);

}  // namespace tenon
