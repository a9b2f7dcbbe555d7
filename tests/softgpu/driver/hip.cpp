// The functions of libamdhip64.so.7. Numbers and layouts: hip_device.h.
#include <cstring>
#include <iterator>

#include "driver/calls.h"
#include "driver/driver.h"
#include "driver/hip_device.h"
#include "driver/model.h"

using namespace softgpu;

#define EXPORTED extern "C" __attribute__((visibility("default")))
/// A function that needs a device, and counts its calls: HIP initialises itself, and every thread begins with
/// device 0.
#define HIP(name, parameters, call)                      \
  EXPORTED int name parameters {                         \
    count_call(#name);                                   \
    if (const int status_ = enter_hip()) return status_; \
    return call;                                         \
  }

namespace softgpu {
namespace {

int start_hip() {
  if (const int status = initialise()) return status;
  if (!current_device()) set_current_device(device_at(0));
  return success;
}

int enter_hip() {
  if (const int status = start_hip()) return status;
  return enter();
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

/// hipMemcpyKind: the places of this list.
int direction(int kind, Direction* d) {
  constexpr Direction kinds[] = {Direction::on_host, Direction::to_device, Direction::to_host,
                                 Direction::on_devices, Direction::by_address};
  if (kind < 0 || kind >= int(std::size(kinds))) return invalid_value;
  return *d = kinds[kind], success;
}

uint64_t number(const void* p) { return reinterpret_cast<uint64_t>(p); }
uint64_t* out(void** p) { return reinterpret_cast<uint64_t*>(p); }

int copy_kind(const Rows& rows, int kind, void* stream, bool waits) {
  Direction d;
  if (const int status = direction(kind, &d)) return status;
  return waits ? copy_rows(rows, d) : copy_rows_async(rows, d, stream);
}

constexpr unsigned kNonBlocking = 1, kDisableTiming = 2;  // hipStreamNonBlocking, hipEventDisableTiming
constexpr int kMaxDynamicBytes = 8;                       // hipFuncAttributeMaxDynamicSharedMemorySize

}  // namespace

}  // namespace softgpu

// ---- devices
EXPORTED int hipInit(unsigned flags) { return flags ? invalid_value : initialise(); }
EXPORTED int hipDriverGetVersion(int* version) { return *version = model().driver_version, success; }
EXPORTED int hipRuntimeGetVersion(int* version) { return *version = model().driver_version, success; }
EXPORTED int hipGetDeviceCount(int* count) {
  const int status = initialise();
  return *count = device_count(), status;
}
/// Also after an error of the current one.
EXPORTED int hipSetDevice(int device) { return select_device(device); }
EXPORTED int hipGetDevice(int* device) {
  if (const int status = start_hip()) return status;
  return *device = ordinal_of(*current_device()), success;
}
HIP(hipDeviceGet, (int* device, int ordinal),
    device_at(ordinal) ? (*device = ordinal, success) : invalid_device)
HIP(hipDeviceGetName, (char* name, int size, int device), device_name(name, size, device))
HIP(hipDeviceGetAttribute, (int* value, int a, int device),
    !device_at(device) ? invalid_device
    : value            ? (*value = hip_attribute(a), success)
                       : invalid_value)
HIP(hipDeviceTotalMem, (size_t * bytes, int device),
    device_at(device) ? total_memory(*device_at(device), bytes) : invalid_device)
HIP(hipGetDevicePropertiesR0600, (HipProperties * p, int device), hip_properties(p, device))
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

// ---- not of the vendor: for tests
EXPORTED unsigned long long hipSoftgpuCalls(const char* function) { return calls_of(function); }

// ---- errors
EXPORTED int hipGetLastError() { return success; }
EXPORTED const char* hipGetErrorName(int status) {
  const StatusName* found = status_name(status);
  return found ? found->hip : "hipErrorUnknown";
}
EXPORTED const char* hipGetErrorString(int status) { return hipGetErrorName(status); }
EXPORTED int hipDrvGetErrorName(int status, const char** name) {
  const StatusName* found = status_name(status);
  return *name = found ? found->hip : nullptr, found ? success : invalid_value;
}
EXPORTED int hipDrvGetErrorString(int status, const char** text) { return hipDrvGetErrorName(status, text); }
