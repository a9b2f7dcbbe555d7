// The functions of libcuda.so.1. Names, numbers and layouts are those of CUDA 13's cuda.h.
#include <cstring>

#include "driver/calls.h"
#include "driver/cuda_device.h"
#include "driver/driver.h"
#include "driver/model.h"
#include "driver/tensor_maps.h"

using namespace softgpu;
using Pointer = unsigned long long;  // CUdeviceptr

#define EXPORTED extern "C" __attribute__((visibility("default")))
/// A function that needs a current context: it counts the call, checks that, and gives the value of `call`.
#define CUDA(name, parameters, call)                 \
  EXPORTED int name parameters {                     \
    count_call(#name);                               \
    if (const int status_ = enter()) return status_; \
    return call;                                     \
  }

namespace softgpu {
namespace {

// A context is its device: only primary contexts exist.
Device* as_device(void* context) {
  for (int i = 0; i < device_count(); i++)
    if (device_at(i) == context) return device_at(i);
  return nullptr;
}

/// The status of `initialise`, without a context.
int started(int ordinal) {
  return device_count() == 0 ? not_initialized : device_at(ordinal) ? success : invalid_device;
}

int function_attribute(int* value, int number, void* function) {
  FunctionInfo info;
  if (const int status = function_info(function, &info)) return status;
  if (!value) return invalid_value;
  switch (number) {
    case 0: return *value = info.max_threads, success;
    case 1: return *value = info.static_shared_bytes, success;
    case 4: return *value = info.registers, success;
    case 5:
    case 6: return *value = model().major * 10 + model().minor, success;  // PTX, binary
    case 8: return *value = info.max_dynamic_bytes, success;
    default: return *value = 0, success;
  }
}

/// CUDA_MEMCPY2D_v2.
struct Memcpy2D {
  size_t source_x, source_y;
  int source_type;  // 1: host, 2: device, 4: unified
  const void* source_host;
  Pointer source_device;
  void* source_array;
  size_t source_pitch;
  size_t to_x, to_y;
  int to_type;
  void* to_host;
  Pointer to_device;
  void* to_array;
  size_t to_pitch;
  size_t width, height;
};

int copy_2d(const Memcpy2D* m, void* stream, bool waits) {
  constexpr int kHost = 1, kDevice = 2;
  if (!m || (m->source_type != kHost && m->source_type != kDevice)) return invalid_value;
  if (m->to_type != kHost && m->to_type != kDevice) return invalid_value;
  const bool from_host = m->source_type == kHost, to_host = m->to_type == kHost;
  if (from_host && to_host) return not_supported;
  const auto from = from_host ? reinterpret_cast<uint64_t>(m->source_host) : m->source_device;
  const auto to = to_host ? reinterpret_cast<uint64_t>(m->to_host) : m->to_device;
  const size_t from_pitch = m->source_pitch ? m->source_pitch : m->width,
               to_pitch = m->to_pitch ? m->to_pitch : m->width;
  const Rows rows{to + m->to_y * to_pitch + m->to_x,
                  from + m->source_y * from_pitch + m->source_x,
                  to_pitch,
                  from_pitch,
                  m->width,
                  m->height};
  const Direction d = from_host ? Direction::to_device : to_host ? Direction::to_host : Direction::on_devices;
  return waits ? copy_rows(rows, d) : copy_rows_async(rows, d, stream);
}

uint64_t* out(Pointer* p) { return reinterpret_cast<uint64_t*>(p); }
uint64_t host(const void* p) { return reinterpret_cast<uint64_t>(p); }
constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;  // CU_STREAM_NON_BLOCKING, CU_EVENT_DISABLE_TIMING
constexpr int kMaxDynamicBytes = 8;                       // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

}  // namespace

}  // namespace softgpu

// ---- devices and contexts
EXPORTED int cuInit(unsigned flags) { return flags ? invalid_value : initialise(); }
EXPORTED int cuDriverGetVersion(int* version) { return *version = model().driver_version, success; }
EXPORTED int cuDeviceGetCount(int* count) { return *count = device_count(), initialise(); }
EXPORTED int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, started(ordinal); }
EXPORTED int cuDeviceGetName(char* name, int size, int device) {
  if (const int s = started(device)) return s;
  if (!name || size <= 0) return invalid_value;
  strncpy(name, model().name, size);
  return name[size - 1] = 0, success;
}
EXPORTED int cuDeviceTotalMem_v2(size_t* bytes, int device) {
  if (const int s = started(device)) return s;
  return total_memory(*device_at(device), bytes);
}
EXPORTED int cuDeviceGetAttribute(int* value, int number, int device) {
  if (const int s = started(device)) return s;
  return value ? (*value = cuda_attribute(number), success) : invalid_value;
}
EXPORTED int cuDeviceCanAccessPeer(int* can, int device, int peer) {
  if (const int s = started(device)) return s;
  return *can = 0, started(peer);
}
EXPORTED int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (const int s = started(device)) return s;
  return *context = device_at(device), success;
}
EXPORTED int cuDevicePrimaryCtxRelease_v2(int device) { return started(device); }
EXPORTED int cuCtxSetCurrent(void* context) {
  Device* device = as_device(context);
  if (context && !device) return invalid_context;
  return set_current_device(device), success;
}
EXPORTED int cuCtxGetCurrent(void** context) { return *context = current_device(), success; }
EXPORTED int cuCtxGetDevice(int* device) {
  return current_device() ? (*device = ordinal_of(*current_device()), success) : invalid_context;
}
CUDA(cuCtxSynchronize, (), synchronise_device())

// ---- memory
CUDA(cuMemGetInfo_v2, (size_t * free_bytes, size_t* total), memory_info(free_bytes, total))
CUDA(cuMemAlloc_v2, (Pointer * p, size_t n), allocate(out(p), n))
CUDA(cuMemFree_v2, (Pointer p), free_memory(p))
CUDA(cuMemAllocAsync, (Pointer * p, size_t n, void* s), allocate_async(out(p), n, s))
CUDA(cuMemFreeAsync, (Pointer p, void* s), free_async(p, s))
CUDA(cuMemHostAlloc, (void** p, size_t n, unsigned), allocate_pinned(p, n))
CUDA(cuMemAllocHost_v2, (void** p, size_t n), allocate_pinned(p, n))
CUDA(cuMemFreeHost, (void* p), free_pinned(p))
CUDA(cuMemcpyHtoD_v2, (Pointer d, const void* s, size_t n), copy(d, host(s), n, Direction::to_device))
CUDA(cuMemcpyDtoH_v2, (void* d, Pointer s, size_t n), copy(host(d), s, n, Direction::to_host))
CUDA(cuMemcpyDtoD_v2, (Pointer d, Pointer s, size_t n), copy(d, s, n, Direction::on_devices))
CUDA(cuMemcpyHtoDAsync_v2, (Pointer d, const void* s, size_t n, void* stream),
     copy_async(d, host(s), n, Direction::to_device, stream))
CUDA(cuMemcpyDtoHAsync_v2, (void* d, Pointer s, size_t n, void* stream),
     copy_async(host(d), s, n, Direction::to_host, stream))
CUDA(cuMemcpyDtoDAsync_v2, (Pointer d, Pointer s, size_t n, void* stream),
     copy_async(d, s, n, Direction::on_devices, stream))
CUDA(cuMemcpy, (Pointer d, Pointer s, size_t n), copy(d, s, n, Direction::by_address))
CUDA(cuMemcpyAsync, (Pointer d, Pointer s, size_t n, void* stream),
     copy_async(d, s, n, Direction::by_address, stream))
CUDA(cuMemcpyPeer, (Pointer d, void*, Pointer s, void*, size_t n), copy(d, s, n, Direction::on_devices))
CUDA(cuMemcpyPeerAsync, (Pointer d, void*, Pointer s, void*, size_t n, void* stream),
     copy_async(d, s, n, Direction::on_devices, stream))
CUDA(cuMemcpy2D_v2, (const Memcpy2D* m), copy_2d(m, nullptr, true))
CUDA(cuMemcpy2DUnaligned_v2, (const Memcpy2D* m), copy_2d(m, nullptr, true))
CUDA(cuMemcpy2DAsync_v2, (const Memcpy2D* m, void* s), copy_2d(m, s, false))
CUDA(cuMemsetD8_v2, (Pointer p, unsigned char v, size_t n), fill(p, v, 1, n))
CUDA(cuMemsetD16_v2, (Pointer p, unsigned short v, size_t n), fill(p, v, 2, n))
CUDA(cuMemsetD32_v2, (Pointer p, unsigned v, size_t n), fill(p, v, 4, n))
CUDA(cuMemsetD8Async, (Pointer p, unsigned char v, size_t n, void* s), fill_async(p, v, 1, n, s))
CUDA(cuMemsetD16Async, (Pointer p, unsigned short v, size_t n, void* s), fill_async(p, v, 2, n, s))
CUDA(cuMemsetD32Async, (Pointer p, unsigned v, size_t n, void* s), fill_async(p, v, 4, n, s))

// ---- streams and events
CUDA(cuStreamCreate, (void** s, unsigned flags), create_stream(s, !(flags & kNonBlocking)))
CUDA(cuStreamCreateWithPriority, (void** s, unsigned flags, int), create_stream(s, !(flags & kNonBlocking)))
CUDA(cuStreamDestroy_v2, (void* s), destroy_stream(s))
CUDA(cuStreamSynchronize, (void* s), synchronise_stream(s))
CUDA(cuStreamQuery, (void* s), query_stream(s))
CUDA(cuStreamWaitEvent, (void* s, void* e, unsigned), stream_waits(s, e))
CUDA(cuLaunchHostFunc, (void* s, void (*f)(void*), void* argument), call_host(s, f, argument))
CUDA(cuEventCreate, (void** e, unsigned flags), create_event(e, !(flags & kDisableTiming)))
CUDA(cuEventDestroy_v2, (void* e), destroy_event(e))
CUDA(cuEventRecord, (void* e, void* s), record_event(e, s))
CUDA(cuEventSynchronize, (void* e), synchronise_event(e))
CUDA(cuEventQuery, (void* e), query_event(e))
CUDA(cuEventElapsedTime, (float* ms, void* a, void* b), elapsed_ms(ms, a, b))
CUDA(cuEventElapsedTime_v2, (float* ms, void* a, void* b), elapsed_ms(ms, a, b))

// ---- modules and launches
CUDA(cuModuleLoadData, (void** m, const void* image), load_image(m, image))
CUDA(cuModuleLoadDataEx, (void** m, const void* image, unsigned, int*, void**), load_image(m, image))
CUDA(cuModuleUnload, (void* m), unload(m))
CUDA(cuModuleGetFunction, (void** f, void* m, const char* name), find_function(f, m, name))
CUDA(cuModuleGetGlobal_v2, (Pointer * p, size_t* n, void* m, const char* name),
     find_variable(out(p), n, m, name))
CUDA(cuFuncSetAttribute, (void* f, int number, int value),
     number == kMaxDynamicBytes ? set_max_dynamic_bytes(f, value) : success)
CUDA(cuFuncGetAttribute, (int* value, int number, void* f), function_attribute(value, number, f))
CUDA(cuOccupancyMaxActiveBlocksPerMultiprocessor, (int* n, void* f, int threads, size_t bytes),
     max_active_blocks(n, f, threads, bytes))
CUDA(cuTensorMapEncodeTiled,
     (void* map, int dtype, unsigned rank, void* address, const uint64_t* extent, const uint64_t* stride,
      const unsigned* box, const unsigned* step, int interleave, int swizzle, int promotion, int fill),
     encode_tensor_map(map, {dtype, rank, host(address), extent, stride, box, step, interleave, swizzle,
                             promotion, fill}))
CUDA(cuLaunchKernel,
     (void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned bytes,
      void* s, void** arguments, void** extra),
     launch_kernel(f, {gx, gy, gz}, {bx, by, bz}, bytes, s, arguments, extra))

// ---- graphs
CUDA(cuStreamBeginCapture_v2, (void* s, int mode), begin_capture(s, mode))
CUDA(cuStreamEndCapture, (void* s, void** graph), end_capture(s, graph))
CUDA(cuStreamIsCapturing, (void* s, int* status), capture_status(s, status))
CUDA(cuGraphInstantiateWithFlags, (void** e, void* graph, unsigned long long), instantiate(e, graph))
CUDA(cuGraphLaunch, (void* e, void* s), launch_graph(e, s))
CUDA(cuGraphDestroy, (void* graph), destroy_graph(graph))
CUDA(cuGraphExecDestroy, (void* e), destroy_executable(e))

// ---- not of the vendor: for tests
EXPORTED unsigned long long cuSoftgpuCalls(const char* function) { return calls_of(function); }

// ---- errors
EXPORTED int cuGetErrorName(int status, const char** name) {
  const StatusName* found = status_name(status);
  return *name = found ? found->cuda : nullptr, found ? success : invalid_value;
}
EXPORTED int cuGetErrorString(int status, const char** text) { return cuGetErrorName(status, text); }
