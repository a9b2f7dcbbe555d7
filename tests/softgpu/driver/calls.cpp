#include "driver/calls.h"

#include <map>
#include <mutex>
#include <string>

namespace softgpu {
namespace {

struct Calls {
  std::mutex mutex;
  std::map<std::string, unsigned long long> counts;
};

Calls& calls() {
  static auto* all = new Calls;  // the program calls until it ends
  return *all;
}

}  // namespace

void count_call(const char* function) {
  const std::lock_guard lock(calls().mutex);
  ++calls().counts[function];
}

unsigned long long calls_of(const char* function) {
  const std::lock_guard lock(calls().mutex);
  const auto found = calls().counts.find(function);
  return found == calls().counts.end() ? 0 : found->second;
}

}  // namespace softgpu
