// Memory of a device, or pinned for it, that comes and goes while runs do: drivers take their time to
// allocate, and wait to free; a system takes its time to make pages.
#pragma once
#include <memory>

#include "runtime/device.h"

namespace tenon {

/// What is given back serves the next request of about its size. It keeps no more than was in use at once.
/// Safe from several threads. Whoever gives memory back must be done with it, the device too.
class MemoryPool {
 public:
  /// The device must outlive what the pool gives.
  MemoryPool(const Device& device, Space space);
  /// At least so many bytes of that memory, for which the pool need not live. Throws std::bad_alloc.
  std::shared_ptr<const Memory> take(std::size_t bytes);

 private:
  class Blocks;
  const Device& device_;
  const Space space_;
  std::shared_ptr<Blocks> blocks_;
};

}  // namespace tenon
