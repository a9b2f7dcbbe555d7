#include "base/process_memory.h"

#include <fstream>
#include <sstream>
#include <string>

namespace tenon {

ProcessMemory process_memory() {
  ProcessMemory memory;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    std::size_t kib = 0;
    if (!(words >> name >> kib)) continue;
    if (name == "VmHWM:") memory.peak = kib * 1024;
    if (name == "RssAnon:") memory.own = kib * 1024;
  }
  return memory;
}

}  // namespace tenon
