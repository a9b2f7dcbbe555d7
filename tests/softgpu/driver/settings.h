// What the environment says; read once. README.md explains each variable.
#pragma once
#include <cstddef>
#include <cstdint>

namespace softgpu {

enum class Schedule { eager, lazy, others, random };

struct Settings {
  Schedule schedule;     // SOFTGPU_SCHED
  uint64_t seed;         // of random
  unsigned max_us;       // the longest delay of random
  int devices;           // SOFTGPU_DEVICES
  size_t memory;         // SOFTGPU_MEM_MB, in bytes; of each device
  bool count_arguments;  // SOFTGPU_ARGS, unless it is "unknown"
  bool loose_pointers;   // SOFTGPU_LOOSE
  bool quiet;            // SOFTGPU_QUIET

  /// Commands wait until somebody waits for them.
  bool holds_commands() const { return schedule == Schedule::lazy || schedule == Schedule::others; }
};

const Settings& settings();

}  // namespace softgpu
