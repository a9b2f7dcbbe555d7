// Allocations. Fresh memory is NaN, every allocation ends at a page that nobody may touch, and no address
// comes twice.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "driver/device_process.h"
#include "driver/diagnostics.h"
#include "driver/settings.h"

namespace softgpu {
namespace {

constexpr size_t kAlignment = 256;
constexpr unsigned char kPoison = 0xff;  // NaN, -1

using ull = unsigned long long;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/// Finds addresses; the memory is not open yet.
int reserve(Device& device, uint64_t* address, size_t bytes) {
  if (!address || !bytes) return invalid_value;
  if (bytes > kDeviceSpan) return out_of_memory;
  const size_t aligned = rounded(bytes, kAlignment), length = rounded(aligned, kPage);
  if (device.used + length > settings().memory) return out_of_memory;
  if (device.next + length + 2 * kPage > device.base + kDeviceSpan) return out_of_memory;
  *address = device.next + length - aligned;
  state.memory[*address] = {bytes, ++state.allocations, device.next, length, true, &device};
  device.next += length + kPage;
  device.used += length;
  return success;
}

int open_pages(const Allocation& a) {
  Device& device = *a.device;
  const int status =
      request(device, Operation::open_memory, [&](Channel& c) { c.a = a.base, c.b = a.length; });
  memset(device.view + (a.base - device.base), kPoison, a.length);
  return status;
}

/// The bytes between the allocation's end and its last page's.
bool end_is_untouched(uint64_t address, const Allocation& a) {
  const char* end = a.device->view + (address + a.bytes - a.device->base);
  const char* page_end = a.device->view + (a.base + a.length - a.device->base);
  return std::all_of(end, page_end, [](char c) { return static_cast<unsigned char>(c) == kPoison; });
}

int close_pages(uint64_t address, const Allocation& a) {
  if (!end_is_untouched(address, a))
    say("bytes past the end of allocation #%llu (%llu bytes) were overwritten", static_cast<ull>(a.number),
        static_cast<ull>(a.bytes));
  Device& device = *a.device;
  const int status =
      request(device, Operation::close_memory, [&](Channel& c) { c.a = a.base, c.b = a.length; });
  fallocate(device.memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, a.base - device.base, a.length);
  return status;
}

/// The live allocation that begins at `address`; says what is there otherwise.
Allocation* find_begin(uint64_t address) {
  const auto found = state.memory.find(address);
  if (found != state.memory.end() && found->second.live) return &found->second;
  say("free of 0x%llx: %s", static_cast<ull>(address), describe(address).c_str);
  return nullptr;
}

Allocation retire(Allocation& a) {
  a.live = false;
  a.device->used -= a.length;
  return a;
}

}  // namespace

bool is_device_address(uint64_t address) { return address >= kMemoryBase && address < kPinnedBase; }

Allocation* allocation_at(AllocationMap& map, uint64_t address, uint64_t bytes) {
  auto after = map.upper_bound(address);
  if (after == map.begin()) return nullptr;
  auto& [begin, a] = *--after;
  const uint64_t offset = address - begin;
  return a.live && offset <= a.bytes && bytes <= a.bytes - offset ? &a : nullptr;
}

int allocate(uint64_t* address, size_t bytes) {
  Lock lock(state.mutex);
  SOFTGPU_TRY(refuse_while_capturing());
  SOFTGPU_TRY(reserve(*current_device(), address, bytes));
  const Allocation a = state.memory[*address];
  lock.unlock();
  return open_pages(a);
}

int allocate_async(uint64_t* address, size_t bytes, void* stream) {
  const Lock lock(state.mutex);
  const StreamPtr s = find_stream(stream);
  if (!s) return invalid_handle;
  SOFTGPU_TRY(refuse_if_captures(*s));
  SOFTGPU_TRY(reserve(*s->device, address, bytes));
  add_command(s, [a = state.memory[*address]] { return open_pages(a); });
  return success;
}

int free_memory(uint64_t address) {
  if (!address) return success;
  Lock lock(state.mutex);
  SOFTGPU_TRY(refuse_while_capturing());
  Allocation* found = find_begin(address);
  if (!found) return invalid_value;
  wait_for_device(lock, *found->device);
  if (!found->live) return invalid_value;
  const Allocation a = retire(*found);
  lock.unlock();
  return close_pages(address, a);
}

int free_async(uint64_t address, void* stream) {
  const Lock lock(state.mutex);
  const StreamPtr s = find_stream(stream);
  if (!s) return invalid_handle;
  SOFTGPU_TRY(refuse_if_captures(*s));
  Allocation* found = find_begin(address);
  if (!found) return invalid_value;
  add_command(s, [address, a = retire(*found)] { return close_pages(address, a); });
  return success;
}

int allocate_pinned(void** address, size_t bytes) {
  const Lock lock(state.mutex);
  if (!address || !bytes) return invalid_value;
  const uint64_t begin = state.next_pinned, length = rounded(bytes, kPage);
  if (bytes > kPinnedSpan || begin + length + kPage > kPinnedBase + kPinnedSpan) return out_of_memory;
  state.next_pinned += length + kPage;
  *address = pointer(begin);
  mprotect(*address, length, PROT_READ | PROT_WRITE);
  memset(*address, kPoison, length);
  state.pinned[begin] = {bytes, ++state.allocations, begin, length, true, nullptr};
  return success;
}

int free_pinned(void* address) {
  if (!address) return success;
  Lock lock(state.mutex);
  const auto found = state.pinned.find(reinterpret_cast<uint64_t>(address));
  if (found == state.pinned.end() || !found->second.live) return invalid_value;
  for (Device* device : state.devices) wait_for_device(lock, *device);
  Allocation& a = found->second;
  a.live = false;
  mprotect(address, a.length, PROT_NONE);
  fallocate(state.pinned_memory, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, a.base - kPinnedBase, a.length);
  return success;
}

int memory_info(size_t* free_bytes, size_t* total_bytes) {
  const Lock lock(state.mutex);
  if (!free_bytes || !total_bytes) return invalid_value;
  *total_bytes = settings().memory;
  *free_bytes = settings().memory - current_device()->used;
  return success;
}

int total_memory(const Device&, size_t* bytes) {
  if (!bytes) return invalid_value;
  *bytes = settings().memory;
  return success;
}

}  // namespace softgpu
