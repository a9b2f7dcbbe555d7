// The functions of libamdhip64.so.7. HIP's headers are not at hand: numbers and layouts follow
// hip_runtime_api.h of ROCm 6, which ROCm 7 kept for what is here.
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "driver/driver.h"
#include "driver/model.h"

using namespace softgpu;

#define EXPORTED extern "C" __attribute__((visibility("default")))
/// A function that needs a device: HIP initialises itself, and every thread begins with device 0.
#define HIP(name, parameters, call)                      \
  EXPORTED int name parameters {                         \
    if (const int status_ = enter_hip()) return status_; \
    return call;                                         \
  }

namespace softgpu {
namespace {

Model make_model() {
  const char* named = getenv("SOFTGPU_ARCH");
  const std::string architecture = named ? named : "gfx942";
  const bool cdna = architecture.rfind("gfx9", 0) == 0;
  return {.name = "Soft GPU (HIP)",
          .architecture = architecture,
          .major = cdna ? 9 : 11,
          .minor = cdna ? 4 : 0,
          .warp_size = cdna ? 64 : 32,
          .multiprocessors = cdna ? 304 : 96,
          .max_threads_per_multiprocessor = 2048,
          .max_blocks_per_multiprocessor = 32,
          .max_block_z = 1024,
          .shared_per_block = 64 << 10,
          .shared_per_block_optin = 64 << 10,
          .shared_per_multiprocessor = 64 << 10,
          .registers_per_block = 65536,
          .clock_khz = 2100000,
          .memory_clock_khz = 1300000,
          .memory_bus_bits = 8192,
          .l2_bytes = 4 << 20};
}

int start_hip() {
  if (const int status = initialise()) return status;
  if (!current_device()) set_current_device(device_at(0));
  return success;
}

int enter_hip() {
  if (const int status = start_hip()) return status;
  return enter();
}

/// hipDeviceAttribute_t; zero for what is not known.
int attribute(int number) {
  const Model& m = model();
  switch (number) {
    case 2: return 2;  // copy engines
    case 5: return m.clock_khz;
    case 8: return 1;  // concurrent kernels
    case 19: return m.l2_bytes;
    case 23: return m.major;
    case 25: return m.max_blocks_per_multiprocessor;
    case 26:
    case 27:
    case 55:
    case 56: return Model::max_threads;
    case 28: return m.max_block_z;
    case 29: return int(Model::max_grid_x);
    case 30:
    case 31: return int(Model::max_grid_yz);
    case 57: return m.max_threads_per_multiprocessor;
    case 59: return m.memory_bus_bits;
    case 60: return m.memory_clock_khz;
    case 61: return m.minor;
    case 63: return m.multiprocessors;
    case 71:
    case 72: return m.registers_per_block;
    case 74: return m.shared_per_block;
    case 75: return m.shared_per_block_optin;
    case 76:
    case 10002: return m.shared_per_multiprocessor;
    case 85: return 1;  // unified addressing
    case 87: return m.warp_size;
    case 88: return 1;  // stream-ordered allocation
    default: return 0;
  }
}

/// hipDeviceProp_t of ROCm 6 and later: the fields that are filled in, at their places.
struct Properties {
  char name[256];
  char ids[28];
  size_t total_memory;
  size_t shared_per_block;
  int registers_per_block, warp_size;
  size_t max_pitch;
  int max_threads, max_block[3], max_grid[3], clock_khz;
  size_t constant_memory;
  int major, minor;
  char unused_1[20];
  int multiprocessors;
  char unused_2[216];
  int memory_clock_khz, memory_bus_bits, l2_bytes, persisting_l2_bytes, max_threads_per_multiprocessor;
  char unused_3[532];
  char architecture[256];
  char unused_4[56];
};
static_assert(offsetof(Properties, total_memory) == 288 && offsetof(Properties, multiprocessors) == 388);
static_assert(offsetof(Properties, l2_bytes) == 616 && offsetof(Properties, architecture) == 1160);
static_assert(sizeof(Properties) == 1472);

int properties(Properties* p, int device) {
  if (!p) return invalid_value;
  if (!device_at(device)) return invalid_device;
  const Model& m = model();
  memset(p, 0, sizeof *p);
  strncpy(p->name, m.name, sizeof p->name - 1);
  strncpy(p->architecture, m.architecture.c_str(), sizeof p->architecture - 1);
  p->shared_per_block = m.shared_per_block;
  p->registers_per_block = m.registers_per_block;
  p->warp_size = m.warp_size;
  p->max_threads = p->max_block[0] = p->max_block[1] = Model::max_threads;
  p->max_block[2] = m.max_block_z;
  p->max_grid[0] = int(Model::max_grid_x);
  p->max_grid[1] = p->max_grid[2] = int(Model::max_grid_yz);
  p->clock_khz = m.clock_khz;
  p->major = m.major;
  p->minor = m.minor;
  p->multiprocessors = m.multiprocessors;
  p->memory_clock_khz = m.memory_clock_khz;
  p->memory_bus_bits = m.memory_bus_bits;
  p->l2_bytes = m.l2_bytes;
  p->max_threads_per_multiprocessor = m.max_threads_per_multiprocessor;
  return total_memory(*device_at(device), &p->total_memory);
}

int device_name(char* name, int size, int device) {
  if (!device_at(device)) return invalid_device;
  if (!name || size <= 0) return invalid_value;
  strncpy(name, model().name, size);
  return name[size - 1] = 0, success;
}

int select_device(int device) {
  if (const int status = initialise()) return status;
  if (!device_at(device)) return invalid_device;
  return set_current_device(device_at(device)), success;
}

/// hipFunction_attribute: the numbers are CUDA's.
int function_attribute(int* value, int number, void* function) {
  FunctionInfo info;
  if (const int status = function_info(function, &info)) return status;
  if (!value) return invalid_value;
  switch (number) {
    case 0: return *value = info.max_threads, success;
    case 1: return *value = info.static_shared_bytes, success;
    case 4: return *value = info.registers, success;
    case 8: return *value = info.max_dynamic_bytes, success;
    default: return *value = 0, success;
  }
}

/// hipMemcpyKind.
int direction(int kind, Direction* d) {
  switch (kind) {
    case 1: return *d = Direction::to_device, success;
    case 2: return *d = Direction::to_host, success;
    case 3: return *d = Direction::on_devices, success;
    default: return not_supported;
  }
}

uint64_t number(const void* p) { return reinterpret_cast<uint64_t>(p); }
uint64_t* out(void** p) { return reinterpret_cast<uint64_t*>(p); }

int copy_kind(const Rows& rows, int kind, void* stream, bool waits) {
  Direction d = direction_between(rows.to, rows.from);
  constexpr int by_addresses = 4;  // hipMemcpyDefault
  if (kind != by_addresses)
    if (const int status = direction(kind, &d)) return status;
  return waits ? copy_rows(rows, d) : copy_rows_async(rows, d, stream);
}

constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;  // hipStreamNonBlocking, hipEventDisableTiming
constexpr int kMaxDynamicBytes = 8;                       // hipFuncAttributeMaxDynamicSharedMemorySize

}  // namespace

const Model& model() {
  static const Model& m = *new Model(make_model());
  return m;
}

}  // namespace softgpu

// ---- devices
EXPORTED int hipInit(unsigned flags) { return flags ? invalid_value : initialise(); }
EXPORTED int hipDriverGetVersion(int* version) { return *version = 70000000, success; }
EXPORTED int hipRuntimeGetVersion(int* version) { return *version = 70000000, success; }
EXPORTED int hipGetDeviceCount(int* count) {
  const int status = initialise();
  return *count = device_count(), status;
}
EXPORTED int hipSetDevice(int device) {
  return select_device(device);
}  // also after an error of the current one
EXPORTED int hipGetDevice(int* device) {
  if (const int status = start_hip()) return status;
  return *device = ordinal_of(*current_device()), success;
}
HIP(hipDeviceGet, (int* device, int ordinal),
    device_at(ordinal) ? (*device = ordinal, success) : invalid_device)
HIP(hipDeviceGetName, (char* name, int size, int device), device_name(name, size, device))
HIP(hipDeviceGetAttribute, (int* value, int a, int device),
    !device_at(device) ? invalid_device
    : value            ? (*value = attribute(a), success)
                       : invalid_value)
HIP(hipDeviceTotalMem, (size_t * bytes, int device),
    device_at(device) ? total_memory(*device_at(device), bytes) : invalid_device)
HIP(hipGetDevicePropertiesR0600, (Properties * p, int device), properties(p, device))
HIP(hipDeviceCanAccessPeer, (int* can, int, int), (*can = 0, success))
HIP(hipDeviceSynchronize, (), synchronise_device())

// ---- memory
HIP(hipMemGetInfo, (size_t * free_bytes, size_t* total), memory_info(free_bytes, total))
HIP(hipMalloc, (void** p, size_t n), allocate(out(p), n))
HIP(hipFree, (void* p), free_memory(number(p)))
HIP(hipMallocAsync, (void** p, size_t n, void* s), allocate_async(out(p), n, s))
HIP(hipFreeAsync, (void* p, void* s), free_async(number(p), s))
HIP(hipHostMalloc, (void** p, size_t n, unsigned), allocate_pinned(p, n))
HIP(hipHostFree, (void* p), free_pinned(p))
HIP(hipMemcpyHtoD, (void* d, const void* s, size_t n), copy(number(d), number(s), n, Direction::to_device))
HIP(hipMemcpyDtoH, (void* d, const void* s, size_t n), copy(number(d), number(s), n, Direction::to_host))
HIP(hipMemcpyDtoD, (void* d, const void* s, size_t n), copy(number(d), number(s), n, Direction::on_devices))
HIP(hipMemcpyHtoDAsync, (void* d, const void* s, size_t n, void* stream),
    copy_async(number(d), number(s), n, Direction::to_device, stream))
HIP(hipMemcpyDtoHAsync, (void* d, const void* s, size_t n, void* stream),
    copy_async(number(d), number(s), n, Direction::to_host, stream))
HIP(hipMemcpyDtoDAsync, (void* d, const void* s, size_t n, void* stream),
    copy_async(number(d), number(s), n, Direction::on_devices, stream))
HIP(hipMemcpy, (void* d, const void* s, size_t n, int kind),
    copy_kind({number(d), number(s), n, n, n, 1}, kind, nullptr, true))
HIP(hipMemcpyAsync, (void* d, const void* s, size_t n, int kind, void* stream),
    copy_kind({number(d), number(s), n, n, n, 1}, kind, stream, false))
HIP(hipMemcpyPeer, (void* d, int, const void* s, int, size_t n),
    copy(number(d), number(s), n, Direction::on_devices))
HIP(hipMemcpyPeerAsync, (void* d, int, const void* s, int, size_t n, void* stream),
    copy_async(number(d), number(s), n, Direction::on_devices, stream))
HIP(hipMemcpy2D,
    (void* d, size_t to_pitch, const void* s, size_t pitch, size_t width, size_t height, int kind),
    copy_kind({number(d), number(s), to_pitch, pitch, width, height}, kind, nullptr, true))
HIP(hipMemcpy2DAsync,
    (void* d, size_t to_pitch, const void* s, size_t pitch, size_t width, size_t height, int kind,
     void* stream),
    copy_kind({number(d), number(s), to_pitch, pitch, width, height}, kind, stream, false))
HIP(hipMemset, (void* p, int v, size_t n), fill(number(p), v, 1, n))
HIP(hipMemsetAsync, (void* p, int v, size_t n, void* s), fill_async(number(p), v, 1, n, s))
HIP(hipMemsetD8, (void* p, unsigned char v, size_t n), fill(number(p), v, 1, n))
HIP(hipMemsetD16, (void* p, unsigned short v, size_t n), fill(number(p), v, 2, n))
HIP(hipMemsetD32, (void* p, int v, size_t n), fill(number(p), v, 4, n))
HIP(hipMemsetD8Async, (void* p, unsigned char v, size_t n, void* s), fill_async(number(p), v, 1, n, s))
HIP(hipMemsetD16Async, (void* p, unsigned short v, size_t n, void* s), fill_async(number(p), v, 2, n, s))
HIP(hipMemsetD32Async, (void* p, int v, size_t n, void* s), fill_async(number(p), v, 4, n, s))

// ---- streams and events
HIP(hipStreamCreateWithFlags, (void** s, unsigned flags), create_stream(s, !(flags & kNonBlocking)))
HIP(hipStreamDestroy, (void* s), destroy_stream(s))
HIP(hipStreamSynchronize, (void* s), synchronise_stream(s))
HIP(hipStreamQuery, (void* s), query_stream(s))
HIP(hipStreamWaitEvent, (void* s, void* e, unsigned), stream_waits(s, e))
HIP(hipLaunchHostFunc, (void* s, void (*f)(void*), void* argument), call_host(s, f, argument))
HIP(hipEventCreateWithFlags, (void** e, unsigned flags), create_event(e, !(flags & kDisableTiming)))
HIP(hipEventDestroy, (void* e), destroy_event(e))
HIP(hipEventRecord, (void* e, void* s), record_event(e, s))
HIP(hipEventSynchronize, (void* e), synchronise_event(e))
HIP(hipEventQuery, (void* e), query_event(e))
HIP(hipEventElapsedTime, (float* ms, void* a, void* b), elapsed_ms(ms, a, b))

// ---- modules and launches
HIP(hipModuleLoadData, (void** m, const void* image), load_image(m, image))
HIP(hipModuleUnload, (void* m), unload(m))
HIP(hipModuleGetFunction, (void** f, void* m, const char* name), find_function(f, m, name))
HIP(hipModuleGetGlobal, (void** p, size_t* n, void* m, const char* name), find_variable(out(p), n, m, name))
HIP(hipFuncSetAttribute, (const void* f, int a, int value),
    a == kMaxDynamicBytes ? set_max_dynamic_bytes(const_cast<void*>(f), value) : success)
HIP(hipFuncGetAttribute, (int* value, int a, void* f), function_attribute(value, a, f))
HIP(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor, (int* n, void* f, int threads, size_t bytes),
    max_active_blocks(n, f, threads, bytes))
HIP(hipModuleLaunchKernel,
    (void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned bytes,
     void* s, void** arguments, void** extra),
    launch_kernel(f, {gx, gy, gz}, {bx, by, bz}, bytes, s, arguments, extra))

// ---- graphs
HIP(hipStreamBeginCapture, (void* s, int mode), begin_capture(s, mode))
HIP(hipStreamEndCapture, (void* s, void** graph), end_capture(s, graph))
HIP(hipStreamIsCapturing, (void* s, int* status), capture_status(s, status))
HIP(hipGraphInstantiate, (void** e, void* graph, void**, char*, size_t), instantiate(e, graph))
HIP(hipGraphInstantiateWithFlags, (void** e, void* graph, unsigned long long), instantiate(e, graph))
HIP(hipGraphLaunch, (void* e, void* s), launch_graph(e, s))
HIP(hipGraphDestroy, (void* graph), destroy_graph(graph))
HIP(hipGraphExecDestroy, (void* e), destroy_executable(e))

// ---- errors
EXPORTED int hipGetLastError() { return success; }
EXPORTED const char* hipGetErrorName(int status) {
  const StatusName* found = status_name(status);
  return found ? found->hip : "hipErrorUnknown";
}
EXPORTED const char* hipGetErrorString(int status) { return hipGetErrorName(status); }
EXPORTED int hipDrvGetErrorString(int status, const char** text) {
  *text = hipGetErrorName(status);
  return 0;
}
