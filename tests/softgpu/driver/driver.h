// The soft driver without the names of a vendor. Every function gives a Status; handles are opaque pointers,
// as both vendors have them, and a wrong handle is invalid_handle. Streams: null, 1 and 2 are the device's
// default stream.
#pragma once
#include <cstddef>
#include <cstdint>

#include "driver/status.h"

namespace softgpu {

struct Device;

// ---- devices
/// Starts the devices; later calls give what the first one gave.
int initialise();
int device_count();
/// Null where there is no such device.
Device* device_at(int ordinal);
int ordinal_of(const Device& device);
/// Of the calling thread; null at first.
Device* current_device();
void set_current_device(Device* device);
/// What every call checks first: initialised, a current device, and no asynchronous error on it.
int enter();

// ---- memory
int allocate(uint64_t* address, size_t bytes);
int allocate_async(uint64_t* address, size_t bytes, void* stream);
int free_memory(uint64_t address);
int free_async(uint64_t address, void* stream);
int allocate_pinned(void** address, size_t bytes);
int free_pinned(void* address);
int memory_info(size_t* free_bytes, size_t* total_bytes);
int total_memory(const Device& device, size_t* bytes);

// ---- copies
/// `by_address`: as the addresses say.
enum class Direction { to_device, to_host, on_devices, on_host, by_address };
/// `height` rows of `width` bytes; the pitches are the bytes from a row to the next.
struct Rows {
  uint64_t to, from;
  size_t to_pitch, from_pitch, width, height;
};
int copy(uint64_t to, uint64_t from, size_t bytes, Direction direction);
int copy_async(uint64_t to, uint64_t from, size_t bytes, Direction direction, void* stream);
int copy_rows(const Rows& rows, Direction direction);
int copy_rows_async(const Rows& rows, Direction direction, void* stream);
/// `count` times the low `width` bytes of `value`.
int fill(uint64_t address, uint32_t value, size_t width, size_t count);
int fill_async(uint64_t address, uint32_t value, size_t width, size_t count, void* stream);

// ---- streams and events
int create_stream(void** stream, bool waits_for_default);
int destroy_stream(void* stream);
int synchronise_stream(void* stream);
int query_stream(void* stream);
int stream_waits(void* stream, void* event);
int synchronise_device();
int call_host(void* stream, void (*function)(void*), void* argument);
int create_event(void** event, bool timed);
int destroy_event(void* event);
int record_event(void* event, void* stream);
int synchronise_event(void* event);
int query_event(void* event);
int elapsed_ms(float* ms, void* begin, void* end);

// ---- modules and launches
int load_image(void** module, const void* image);
int unload(void* module);
int find_function(void** function, void* module, const char* name);
int find_variable(uint64_t* address, size_t* bytes, void* module, const char* name);
struct FunctionInfo {
  int max_threads, static_shared_bytes, max_dynamic_bytes, registers;
};
int function_info(void* function, FunctionInfo* info);
int set_max_dynamic_bytes(void* function, int bytes);
int max_active_blocks(int* blocks, void* function, int threads, size_t dynamic_bytes);
struct Size3 {
  unsigned x, y, z;
};
/// `arguments`: a pointer to each, then a null pointer; or `packed`, pairs of a key and a value
/// (cuLaunchKernel's extra).
int launch_kernel(void* function, Size3 grid, Size3 block, unsigned dynamic_bytes, void* stream,
                  void** arguments, void** packed);

// ---- graphs
int begin_capture(void* stream, int mode);
int end_capture(void* stream, void** graph);
/// 0: no, 1: yes, 2: yes, but it has failed.
int capture_status(void* stream, int* status);
int instantiate(void** executable, void* graph);
int launch_graph(void* executable, void* stream);
int destroy_graph(void* graph);
int destroy_executable(void* executable);

}  // namespace softgpu
