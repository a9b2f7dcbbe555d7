// What the driver (in the program under test), the device processes, the compiler and its images agree on.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace softgpu {

// Device memory has the same addresses in the program, where it is inaccessible, and in the device's process.
// The ranges lie below the base of every randomised mapping and inside what AddressSanitizer and
// ThreadSanitizer allow.
constexpr uint64_t kMemoryBase = 0x7e9000000000;
constexpr uint64_t kDeviceSpan = 1ull << 36;  // of one device
constexpr int kMaxDevices = 4;
constexpr uint64_t kPinnedBase = kMemoryBase + kMaxDevices * kDeviceSpan;  // pinned host memory: open to all
constexpr uint64_t kPinnedSpan = 1ull << 34;
constexpr size_t kPage = 4096;

constexpr int kChannels = 64;  // one for each stream of a device, 0 for everything else
constexpr size_t kChannelBytes = 64 << 10;
constexpr int kMaxArguments = 256;

enum class Operation : uint32_t {
  open_memory,
  close_memory,
  load_module,
  unload_module,
  find_variable,
  read,
  write,
  run
};

/// One request at a time: the driver fills it and sets `state`, the device's process answers in place.
struct Channel {
  enum : uint32_t { idle, asked, answered };
  std::atomic<uint32_t> state;
  Operation operation;
  int32_t result;  // a Status
  uint64_t a, b;   // addresses, sizes or handles, by operation
  unsigned grid[3], block[3];
  uint64_t dynamic_bytes;
  uint32_t argument_count;
  uint32_t argument_offset[kMaxArguments];  // in `data`
  alignas(64) char data[kChannelBytes];
};

struct Shared {
  std::atomic<uint32_t> dead;  // the device's process has ended
  int signal;                  // why
  uint64_t fault_address;
  char kernel[128];  // that ran then
  Channel channels[kChannels];
};

inline void wait_while(std::atomic<uint32_t>& state, uint32_t value) {
  const timespec at_most{0, 200'000'000};
  syscall(SYS_futex, &state, FUTEX_WAIT, value, &at_most, 0, 0);
}
inline void wake(std::atomic<uint32_t>& state) { syscall(SYS_futex, &state, FUTEX_WAKE, INT_MAX, 0, 0, 0); }

/// What the compiler gives for a cubin or a code object: this, then the bytes of a shared library.
struct Image {
  char magic[8];
  char architecture[16];
  uint64_t size, checksum;  // of the library
};
constexpr char kImageMagic[8] = {'S', 'O', 'F', 'T', 'G', 'P', 'U', '2'};

/// Addresses travel as numbers.
inline void* pointer(uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// FNV-1a.
inline uint64_t checksum(const char* bytes, size_t size) {
  uint64_t hash = 1469598103934665603ull;
  for (size_t i = 0; i < size; i++) hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1099511628211ull;
  return hash;
}

}  // namespace softgpu
