// Copies and fills. From pageable host memory the bytes are taken at the call, to pageable host memory the
// call returns when they are there; pinned memory is read and written when the stream comes to it. Captures
// refuse pageable memory.
#include <algorithm>
#include <cstring>

#include "driver/device_process.h"
#include "driver/diagnostics.h"

namespace softgpu {
namespace {

using ull = unsigned long long;

/// Where the driver reads and writes what the program calls `address`.
char* place(uint64_t address) {
  if (!is_device_address(address)) return static_cast<char*>(pointer(address));
  const Device& device = *state.devices[(address - kMemoryBase) / kDeviceSpan];
  return device.view + (address - device.base);
}

/// Null unless `address` lies in a module's variable, which only the device's process can reach.
Device* device_of_variable(uint64_t address, size_t bytes) {
  const Allocation* a = allocation_at(state.variables, address, bytes);
  return a ? a->device : nullptr;
}

int write_variable(Device& device, uint64_t to, const char* from, size_t bytes) {
  for (size_t done = 0; done < bytes; done += kChannelBytes) {
    const size_t part = std::min(bytes - done, kChannelBytes);
    SOFTGPU_TRY(request(device, Operation::write, [&](Channel& c) {
      c.a = to + done, c.b = part;
      memcpy(c.data, from + done, part);
    }));
  }
  return success;
}

int read_variable(Device& device, char* to, uint64_t from, size_t bytes) {
  for (size_t done = 0; done < bytes; done += kChannelBytes) {
    const size_t part = std::min(bytes - done, kChannelBytes);
    SOFTGPU_TRY(request(
        device, Operation::read, [&](Channel& c) { c.a = from + done, c.b = part; },
        [&](Channel& c) { memcpy(to + done, c.data, part); }));
  }
  return success;
}

size_t extent(const Rows& r, size_t pitch) { return r.height ? (r.height - 1) * pitch + r.width : 0; }

/// One side of a copy lies where its direction says.
int check_side(const char* side, uint64_t address, size_t bytes, bool on_device) {
  const bool in_memory =
      allocation_at(state.memory, address, bytes) || allocation_at(state.pinned, address, bytes);
  const bool right = on_device ? in_memory || device_of_variable(address, bytes)
                               : address >= kPage && !is_device_address(address);
  if (right) return success;
  say("copy of %llu bytes: bad %s 0x%llx: %s", static_cast<ull>(bytes), side, static_cast<ull>(address),
      describe(address).c_str);
  return invalid_value;
}

bool is_to_device(Direction d) { return d == Direction::to_device || d == Direction::on_devices; }
bool is_from_device(Direction d) { return d == Direction::to_host || d == Direction::on_devices; }

/// Pinned memory counts as the host's.
Direction direction_of(const Rows& r) {
  const auto on_device = [](uint64_t address) {
    return is_device_address(address) || device_of_variable(address, 0);
  };
  if (on_device(r.to)) return on_device(r.from) ? Direction::on_devices : Direction::to_device;
  return on_device(r.from) ? Direction::to_host : Direction::on_host;
}

int check(const Rows& r, Direction direction) {
  if (r.height > 1 && (r.to_pitch < r.width || r.from_pitch < r.width)) return invalid_value;
  SOFTGPU_TRY(check_side("destination", r.to, extent(r, r.to_pitch), is_to_device(direction)));
  return check_side("source", r.from, extent(r, r.from_pitch), is_from_device(direction));
}

/// The variables that a copy touches, or null.
struct Variables {
  Device *to, *from;
};

int move_row(const Rows& r, size_t row, const char* source, Variables variables) {
  const uint64_t to = r.to + row * r.to_pitch;
  if (variables.to) return write_variable(*variables.to, to, source, r.width);
  if (variables.from) return read_variable(*variables.from, place(to), r.from + row * r.from_pitch, r.width);
  return memmove(place(to), source, r.width), success;
}

/// Copies now; `source` may stand for staged bytes.
int move_rows(const Rows& r, const char* source, Variables variables) {
  for (size_t row = 0; row < r.height; row++)
    SOFTGPU_TRY(move_row(r, row, source + row * r.from_pitch, variables));
  return success;
}

/// What the stream does for the copy. `staged`: the source is read now.
Action copy_action(const Rows& r, bool staged) {
  const Variables variables{device_of_variable(r.to, extent(r, r.to_pitch)),
                            device_of_variable(r.from, extent(r, r.from_pitch))};
  if (!staged) return [=] { return move_rows(r, place(r.from), variables); };
  auto bytes = std::make_shared<std::string>(static_cast<char*>(pointer(r.from)), extent(r, r.from_pitch));
  return [=] { return move_rows(r, bytes->data(), variables); };
}

bool is_pinned(uint64_t address, size_t bytes) { return allocation_at(state.pinned, address, bytes); }

int add_copy(Lock& lock, const StreamPtr& s, const Rows& r, Direction direction, bool waits) {
  if (!s) return invalid_handle;
  if (!r.width || !r.height) return success;
  if (direction == Direction::by_address) direction = direction_of(r);
  SOFTGPU_TRY(check(r, direction));
  const bool from_pageable = !is_from_device(direction) && !is_pinned(r.from, extent(r, r.from_pitch));
  const bool to_pageable = !is_to_device(direction) && !is_pinned(r.to, extent(r, r.to_pitch));
  if (from_pageable || to_pageable) SOFTGPU_TRY(refuse_if_captures(*s));
  add_command(s, copy_action(r, from_pageable && !waits));
  return !s->capture && (waits || to_pageable) ? wait_for(lock, {s, s->last}) : success;
}

int add_fill(const StreamPtr& s, uint64_t address, uint32_t value, size_t width, size_t count) {
  if (!s) return invalid_handle;
  const size_t bytes = width * count;
  const Allocation* a = allocation_at(state.memory, address, bytes);
  if (!a || a->device != s->device) {
    say("fill of %llu bytes at 0x%llx: %s", static_cast<ull>(bytes), static_cast<ull>(address),
        describe(address).c_str);
    return invalid_value;
  }
  add_command(s, [=] {
    char* to = place(address);
    for (size_t i = 0; i < count; i++) memcpy(to + i * width, &value, width);
    return success;
  });
  return success;
}

Rows one_row(uint64_t to, uint64_t from, size_t bytes) { return {to, from, bytes, bytes, bytes, 1}; }

}  // namespace

int copy_rows(const Rows& rows, Direction direction) {
  Lock lock(state.mutex);
  SOFTGPU_TRY(refuse_while_capturing());
  return add_copy(lock, find_stream(nullptr), rows, direction, true);
}

int copy_rows_async(const Rows& rows, Direction direction, void* stream) {
  Lock lock(state.mutex);
  return add_copy(lock, find_stream(stream), rows, direction, false);
}

int copy(uint64_t to, uint64_t from, size_t bytes, Direction direction) {
  return copy_rows(one_row(to, from, bytes), direction);
}

int copy_async(uint64_t to, uint64_t from, size_t bytes, Direction direction, void* stream) {
  return copy_rows_async(one_row(to, from, bytes), direction, stream);
}

int fill(uint64_t address, uint32_t value, size_t width, size_t count) {
  Lock lock(state.mutex);
  SOFTGPU_TRY(refuse_while_capturing());
  const StreamPtr s = find_stream(nullptr);
  SOFTGPU_TRY(add_fill(s, address, value, width, count));
  return wait_for(lock, {s, s->last});
}

int fill_async(uint64_t address, uint32_t value, size_t width, size_t count, void* stream) {
  const Lock lock(state.mutex);
  return add_fill(find_stream(stream), address, value, width, count);
}

}  // namespace softgpu
