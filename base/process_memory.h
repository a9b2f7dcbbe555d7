// The memory of this process, as the kernel counts it.
#pragma once
#include <cstddef>

namespace tenon {

/// Bytes; 0 where the system does not tell.
struct ProcessMemory {
  std::size_t peak = 0;  // the most that was resident at once, pages of mapped files among them
  std::size_t own = 0;   // resident now and of no file: no other process shares it
};

/// Of /proc/self/status: VmHWM and RssAnon.
ProcessMemory process_memory();

}  // namespace tenon
