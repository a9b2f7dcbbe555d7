// Messages, and the names of addresses.
#include "driver/diagnostics.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "driver/settings.h"
#include "driver/state.h"

namespace softgpu {
namespace {

using ull = unsigned long long;

struct sigaction program_handler;

void on_host_fault(int, siginfo_t* info, void*) {
  const auto address = reinterpret_cast<uint64_t>(info->si_addr);
  if (is_device_address(address))
    say("HOST code touched device memory 0x%llx: %s", static_cast<ull>(address), describe(address).c_str);
  sigaction(SIGSEGV, &program_handler, nullptr);  // the access is tried again and faults as it would have
}

[[gnu::format(printf, 1, 2)]] Text text(const char* format, ...) {
  Text t;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(t.c_str, sizeof t.c_str, format, arguments);
  va_end(arguments);
  return t;
}

}  // namespace

void say(const char* format, ...) {
  if (settings().quiet) return;
  char line[600] = "soft gpu: ";
  const size_t begin = strlen(line);
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(line + begin, sizeof line - begin - 1, format, arguments);
  va_end(arguments);
  const size_t end = std::min(begin + length, sizeof line - 2);
  line[end] = '\n';
  if (write(STDERR_FILENO, line, end + 1) < 0) {}
}

Text describe(uint64_t address) {
  if (address < kPage) return text("a null pointer");
  if (!is_device_address(address)) return text("not a device address (a host pointer?)");
  auto after = state.memory.upper_bound(address);
  if (after == state.memory.begin()) return text("before the first allocation");
  const auto& [begin, a] = *--after;
  const ull offset = address - begin;
  const Text of_device = state.devices.size() > 1 ? text(" of device %d", a.device->ordinal) : text("%s", "");
  const char* freed = a.live ? "" : ", already freed";
  if (offset < a.bytes)
    return text("offset %llu of allocation #%llu (%llu bytes)%s%s", offset, ull(a.number), ull(a.bytes),
                of_device.c_str, freed);
  return text("%llu bytes past the end of allocation #%llu (%llu bytes)%s%s", offset - a.bytes, ull(a.number),
              ull(a.bytes), of_device.c_str, freed);
}

void explain_host_faults() {
  struct sigaction action {};
  action.sa_sigaction = on_host_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &program_handler);
}

void explain_death(const char* kernel, int signal, uint64_t address) {
  if (signal == SIGABRT || !signal)
    say("kernel '%s' ended its device (signal %d)", kernel, signal);
  else
    say("kernel '%s' died with signal %d at 0x%llx: %s", kernel, signal, static_cast<ull>(address),
        describe(address).c_str);
}

}  // namespace softgpu
