// What the driver tells a person, on stderr: which rule was broken and where.
#pragma once
#include <cstdint>

namespace softgpu {

/// Prints "soft gpu: " and the line, unless SOFTGPU_QUIET is set.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// A text that needs no memory: a signal handler may make one.
struct Text {
  char c_str[200];
};
/// "offset 8 of allocation #2 (4096 bytes), already freed", "4 bytes past the end of allocation #1 (64
/// bytes)", ...
Text describe(uint64_t address);

/// Explains a host access to device memory before the program's own handler, or its death, follows.
void explain_host_faults();

/// Why the device's process ended: its signal and address.
void explain_death(const char* kernel, int signal, uint64_t address);

}  // namespace softgpu
