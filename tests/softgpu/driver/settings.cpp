// Reads the environment.
#include "driver/settings.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "protocol.h"

namespace softgpu {
namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* value = getenv(name);
  return value ? value : otherwise;
}

Schedule schedule_named(const std::string& name) {
  if (name == "eager") return Schedule::eager;
  if (name == "lazy") return Schedule::lazy;
  if (name == "others") return Schedule::others;
  if (name == "random") return Schedule::random;
  fprintf(stderr, "soft gpu: SOFTGPU_SCHED=%s: not eager, lazy, others or random:SEED:MAX_US\n",
          name.c_str());
  exit(2);
}

Settings read_settings() {
  const std::string text = variable("SOFTGPU_SCHED", "eager");
  const size_t first = text.find(':'), second = text.find(':', first == text.npos ? first : first + 1);
  Settings s{};
  s.schedule = schedule_named(text.substr(0, first));
  s.seed = first == text.npos ? 1 : strtoull(text.c_str() + first + 1, nullptr, 10);
  s.max_us = second == text.npos ? 200 : atoi(text.c_str() + second + 1);
  s.devices = std::clamp(atoi(variable("SOFTGPU_DEVICES", "1").c_str()), 0, kMaxDevices);
  s.memory = strtoull(variable("SOFTGPU_MEM_MB", "4096").c_str(), nullptr, 10) << 20;
  s.count_arguments = variable("SOFTGPU_ARGS", "terminated") != "unknown";
  s.loose_pointers = getenv("SOFTGPU_LOOSE") != nullptr;
  s.quiet = getenv("SOFTGPU_QUIET") != nullptr;
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings& read = *new Settings(read_settings());
  return read;
}

}  // namespace softgpu
