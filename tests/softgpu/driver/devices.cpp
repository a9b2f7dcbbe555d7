// The devices: their address ranges, and which of them a thread uses.
#include <sys/mman.h>

#include "driver/device_process.h"
#include "driver/diagnostics.h"
#include "driver/settings.h"

namespace softgpu {

State& state = *new State;

namespace {

thread_local Device* current = nullptr;
std::atomic<int> initialised{not_initialized};

/// The program's mapping of `descriptor` at `address`, inaccessible.
bool reserve(uint64_t address, size_t bytes, int descriptor) {
  const int flags = MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  void* wanted = pointer(address);
  if (mmap(wanted, bytes, PROT_NONE, flags, descriptor, 0) == wanted) return true;
  say("the addresses from 0x%llx on are taken", static_cast<unsigned long long>(address));
  return false;
}

int new_memory(const char* name, size_t bytes) {
  const int descriptor = memfd_create(name, MFD_CLOEXEC);
  return descriptor < 0 || ftruncate(descriptor, bytes) ? -1 : descriptor;
}

bool reserve_memory(Device& device) {
  device.base = kMemoryBase + device.ordinal * kDeviceSpan;
  device.next = device.base + kPage;
  device.memory = new_memory("softgpu-device", kDeviceSpan);
  return device.memory >= 0 && reserve(device.base, kDeviceSpan, device.memory);
}

/// The driver's own mapping, anywhere.
bool map_view(Device& device) {
  void* view =
      mmap(nullptr, kDeviceSpan, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, device.memory, 0);
  if (view == MAP_FAILED) return false;
  madvise(view, kDeviceSpan, MADV_DONTDUMP);
  device.view = static_cast<char*>(view);
  return true;
}

/// All fixed ranges first: the system may put the next mapping anywhere.
int start_devices() {
  if (!has_device_program()) return operating_system;
  state.pinned_memory = new_memory("softgpu-pinned", kPinnedSpan);
  if (state.pinned_memory < 0 || !reserve(kPinnedBase, kPinnedSpan, state.pinned_memory))
    return operating_system;
  for (int i = 0; i < settings().devices; i++) {
    state.devices.push_back(new Device{.ordinal = i});
    if (!reserve_memory(*state.devices.back())) return operating_system;
  }
  for (Device* device : state.devices) {
    if (!map_view(*device)) return operating_system;
    SOFTGPU_TRY(start_process(*device));
    const Lock lock(state.mutex);
    device->default_stream = new_stream(*device, true);
  }
  explain_host_faults();
  return state.devices.empty() ? no_device : success;
}

}  // namespace

int initialise() {
  static std::once_flag once;
  std::call_once(once, [] { initialised = start_devices(); });
  return initialised;
}

int device_count() { return int(state.devices.size()); }

Device* device_at(int ordinal) {
  return ordinal >= 0 && ordinal < device_count() ? state.devices[ordinal] : nullptr;
}

int ordinal_of(const Device& device) { return device.ordinal; }
Device* current_device() { return current; }
void set_current_device(Device* device) { current = device; }

int enter() {
  if (initialised != success) return initialised;
  return current ? current->error.load() : invalid_context;
}

}  // namespace softgpu
