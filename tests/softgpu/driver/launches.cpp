// Launches: limits, arguments, and what a function says of itself.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "driver/device_process.h"
#include "driver/diagnostics.h"
#include "driver/model.h"
#include "driver/settings.h"

namespace softgpu {
namespace {

using ull = unsigned long long;

constexpr size_t kArgumentAlignment = 64;  // of a CUtensorMap

struct Arguments {
  std::vector<uint32_t> offset;
  std::string bytes;
};

Function* find(void* handle) {
  return state.functions.count(handle) ? static_cast<Function*>(handle) : nullptr;
}

uint64_t threads_of(Size3 s) { return uint64_t(s.x) * s.y * s.z; }

int check_limits(const Function& f, Size3 grid, Size3 block, unsigned dynamic_bytes) {
  const uint64_t threads = threads_of(block);
  const bool in_block = threads && std::max(block.x, block.y) <= unsigned(Model::max_threads) &&
                        block.z <= unsigned(model().max_block_z) && threads <= uint64_t(Model::max_threads);
  const bool in_grid = grid.x && grid.y && grid.z && grid.x <= Model::max_grid_x &&
                       std::max(grid.y, grid.z) <= Model::max_grid_yz;
  const char* name = f.name.c_str();
  if (!in_block || !in_grid) {
    say("%s: a grid of %ux%ux%u blocks of %ux%ux%u threads is beyond the limits", name, grid.x, grid.y,
        grid.z, block.x, block.y, block.z);
    return invalid_value;
  }
  if (dynamic_bytes > unsigned(f.max_dynamic_bytes)) {
    say("%s: %u bytes of dynamic shared memory, allowed are %d", name, dynamic_bytes, f.max_dynamic_bytes);
    return invalid_value;
  }
  if (!f.max_threads || threads <= f.max_threads) return success;
  say("%s: %llu threads, __launch_bounds__(%u)", name, static_cast<ull>(threads), f.max_threads);
  return out_of_resources;
}

/// No driver knows how many pointers were given, but for the null pointer that ends our arrays.
int check_count(const Function& f, void** arguments) {
  size_t given = 0;
  while (given < size_t(kMaxArguments) && arguments && arguments[given]) given++;
  if (given == f.size.size()) return success;
  say("%s takes %zu arguments, %zu given", f.name.c_str(), f.size.size(), given);
  return invalid_value;
}

bool is_readable(const void* address, size_t bytes) {
  std::string copy(bytes, 0);
  const iovec to{copy.data(), bytes}, from{const_cast<void*>(address), bytes};
  errno = 0;
  const ssize_t read = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
  return read == static_cast<ssize_t>(bytes) || errno == EPERM || errno == ENOSYS;  // may be forbidden to us
}

/// A device pointer must lie in a live allocation of the function's own device.
int check_pointer(const Function& f, size_t i, const char* argument) {
  uint64_t address;
  memcpy(&address, argument, sizeof address);
  if (!address || allocation_at(state.pinned, address, 0)) return success;
  const Allocation* a = allocation_at(state.memory, address, 0);
  if (!a) a = allocation_at(state.variables, address, 0);
  if (a && a->device == f.module->device) return success;
  say("%s: argument %zu, pointer 0x%llx: %s%s", f.name.c_str(), i, static_cast<ull>(address),
      describe(address).c_str, a ? ", on another device" : "");
  return settings().loose_pointers ? success : invalid_value;
}

int add_argument(const Function& f, size_t i, const char* from, Arguments& to) {
  if (to.bytes.size() + f.size[i] + kArgumentAlignment > kChannelBytes || i >= size_t(kMaxArguments))
    return invalid_value;
  if (f.is_pointer[i]) SOFTGPU_TRY(check_pointer(f, i, from));
  to.offset.push_back(uint32_t(to.bytes.size()));
  to.bytes.append(from, f.size[i]);
  to.bytes.resize((to.bytes.size() + kArgumentAlignment - 1) / kArgumentAlignment * kArgumentAlignment);
  return success;
}

int pointed_arguments(const Function& f, void** arguments, Arguments& to) {
  if (settings().count_arguments) SOFTGPU_TRY(check_count(f, arguments));
  for (size_t i = 0; i < f.size.size(); i++) {
    if (!arguments || !is_readable(arguments[i], f.size[i])) {
      say("%s: argument %zu of %zu is missing", f.name.c_str(), i, f.size.size());
      return invalid_value;
    }
    SOFTGPU_TRY(add_argument(f, i, static_cast<char*>(arguments[i]), to));
  }
  return success;
}

/// The alignment in a packed buffer, guessed from the size: the largest power of two that divides it, at
/// most 16.
size_t packed_alignment(size_t size) { return std::min<size_t>(size & -size, 16); }

int packed_arguments(const Function& f, void** packed, Arguments& to) {
  enum : uintptr_t { end, buffer, buffer_size };  // CU_LAUNCH_PARAM_...
  const char* bytes = nullptr;
  size_t given = 0, used = 0;
  for (; reinterpret_cast<uintptr_t>(*packed) != end; packed += 2) {
    if (reinterpret_cast<uintptr_t>(*packed) == buffer) bytes = static_cast<char*>(packed[1]);
    if (reinterpret_cast<uintptr_t>(*packed) == buffer_size) given = *static_cast<size_t*>(packed[1]);
    if (reinterpret_cast<uintptr_t>(*packed) > buffer_size) break;  // HIP's end
  }
  if (!bytes) return invalid_value;
  for (size_t i = 0; i < f.size.size(); i++) {
    const size_t alignment = packed_alignment(f.size[i]), at = (used + alignment - 1) / alignment * alignment;
    used = at + f.size[i];
    if (used <= given) SOFTGPU_TRY(add_argument(f, i, bytes + at, to));
  }
  if (given == used || given == (used + 7) / 8 * 8) return success;
  say("%s takes %zu bytes of arguments, %zu given", f.name.c_str(), used, given);
  return invalid_value;
}

void fill_launch(Channel& c, uint64_t kernel, Size3 grid, Size3 block, unsigned dynamic_bytes,
                 const Arguments& a) {
  c.a = kernel;
  memcpy(c.grid, &grid, sizeof c.grid);
  memcpy(c.block, &block, sizeof c.block);
  c.dynamic_bytes = dynamic_bytes;
  c.argument_count = uint32_t(a.offset.size());
  std::copy(a.offset.begin(), a.offset.end(), c.argument_offset);
  memcpy(c.data, a.bytes.data(), a.bytes.size());
}

}  // namespace

int launch_kernel(void* function, Size3 grid, Size3 block, unsigned dynamic_bytes, void* stream,
                  void** arguments, void** packed) {
  const Lock lock(state.mutex);
  const Function* f = find(function);
  const StreamPtr s = find_stream(stream);
  if (!f || !s || s->device != f->module->device) return invalid_handle;
  SOFTGPU_TRY(check_limits(*f, grid, block, dynamic_bytes));
  if (packed && arguments) return invalid_value;
  auto a = std::make_shared<Arguments>();
  SOFTGPU_TRY(packed ? packed_arguments(*f, packed, *a) : pointed_arguments(*f, arguments, *a));
  add_command(s, [=, kernel = f->kernel, device = s->device] {
    return request(*device, Operation::run,
                   [&](Channel& c) { fill_launch(c, kernel, grid, block, dynamic_bytes, *a); });
  });
  return success;
}

int function_info(void* function, FunctionInfo* info) {
  const Lock lock(state.mutex);
  const Function* f = find(function);
  if (!f || !info) return f ? invalid_value : invalid_handle;
  *info = {f->max_threads ? int(f->max_threads) : Model::max_threads, 0, f->max_dynamic_bytes, 0};
  return success;
}

int set_max_dynamic_bytes(void* function, int bytes) {
  const Lock lock(state.mutex);
  Function* f = find(function);
  if (!f) return invalid_handle;
  if (bytes < 0 || bytes > model().shared_per_block_optin) return invalid_value;
  f->max_dynamic_bytes = std::max(bytes, model().shared_per_block);
  return success;
}

int max_active_blocks(int* blocks, void* function, int threads, size_t dynamic_bytes) {
  const Lock lock(state.mutex);
  const Function* f = find(function);
  if (!f || !blocks || threads <= 0) return f ? invalid_value : invalid_handle;
  const Model& m = model();
  *blocks = 0;
  const int most = f->max_threads ? int(f->max_threads) : Model::max_threads;
  if (threads > most || dynamic_bytes > size_t(f->max_dynamic_bytes)) return success;
  *blocks = std::min(m.max_threads_per_multiprocessor / threads, m.max_blocks_per_multiprocessor);
  if (dynamic_bytes) *blocks = std::min(*blocks, int(m.shared_per_multiprocessor / dynamic_bytes));
  return success;
}

}  // namespace softgpu
