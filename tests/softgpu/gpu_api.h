// The driver and the run-time compiler of either vendor through one set of pointers, for the tests. The two
// vendors call these functions alike: device pointers are 64-bit numbers in both.
#pragma once
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace softgpu {

using Address = unsigned long long;
enum class Vendor { cuda, hip };

// member, CUDA's name, HIP's name, parameters
#define SOFTGPU_DRIVER(X)                                                                                 \
  X(init, "cuInit", "hipInit", (unsigned))                                                                \
  X(device_count, "cuDeviceGetCount", "hipGetDeviceCount", (int*))                                        \
  X(device_name, "cuDeviceGetName", "hipDeviceGetName", (char*, int, int))                                \
  X(device_attribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute", (int*, int, int))                  \
  X(total_memory, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", (size_t*, int))                             \
  X(allocate, "cuMemAlloc_v2", "hipMalloc", (Address*, size_t))                                           \
  X(free, "cuMemFree_v2", "hipFree", (Address))                                                           \
  X(allocate_async, "cuMemAllocAsync", "hipMallocAsync", (Address*, size_t, void*))                       \
  X(free_async, "cuMemFreeAsync", "hipFreeAsync", (Address, void*))                                       \
  X(allocate_pinned, "cuMemHostAlloc", "hipHostMalloc", (void**, size_t, unsigned))                       \
  X(free_pinned, "cuMemFreeHost", "hipHostFree", (void*))                                                 \
  X(to_device, "cuMemcpyHtoD_v2", "hipMemcpyHtoD", (Address, const void*, size_t))                        \
  X(to_host, "cuMemcpyDtoH_v2", "hipMemcpyDtoH", (void*, Address, size_t))                                \
  X(to_device_async, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync", (Address, const void*, size_t, void*)) \
  X(to_host_async, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync", (void*, Address, size_t, void*))         \
  X(on_device, "cuMemcpyDtoD_v2", "hipMemcpyDtoD", (Address, Address, size_t))                            \
  X(fill32, "cuMemsetD32_v2", "hipMemsetD32", (Address, unsigned, size_t))                                \
  X(fill32_async, "cuMemsetD32Async", "hipMemsetD32Async", (Address, unsigned, size_t, void*))            \
  X(create_stream, "cuStreamCreate", "hipStreamCreateWithFlags", (void**, unsigned))                      \
  X(destroy_stream, "cuStreamDestroy_v2", "hipStreamDestroy", (void*))                                    \
  X(synchronise, "cuStreamSynchronize", "hipStreamSynchronize", (void*))                                  \
  X(stream_waits, "cuStreamWaitEvent", "hipStreamWaitEvent", (void*, void*, unsigned))                    \
  X(create_event, "cuEventCreate", "hipEventCreateWithFlags", (void**, unsigned))                         \
  X(destroy_event, "cuEventDestroy_v2", "hipEventDestroy", (void*))                                       \
  X(record, "cuEventRecord", "hipEventRecord", (void*, void*))                                            \
  X(elapsed, "cuEventElapsedTime", "hipEventElapsedTime", (float*, void*, void*))                         \
  X(load, "cuModuleLoadData", "hipModuleLoadData", (void**, const void*))                                 \
  X(unload, "cuModuleUnload", "hipModuleUnload", (void*))                                                 \
  X(function, "cuModuleGetFunction", "hipModuleGetFunction", (void**, void*, const char*))                \
  X(variable, "cuModuleGetGlobal_v2", "hipModuleGetGlobal", (Address*, size_t*, void*, const char*))      \
  X(set_function_attribute, "cuFuncSetAttribute", "hipFuncSetAttribute", (void*, int, int))               \
  X(function_attribute, "cuFuncGetAttribute", "hipFuncGetAttribute", (int*, int, void*))                  \
  X(active_blocks, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                                         \
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", (int*, void*, int, size_t))                     \
  X(launch, "cuLaunchKernel", "hipModuleLaunchKernel",                                                    \
    (void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**)) \
  X(synchronise_device, "cuCtxSynchronize", "hipDeviceSynchronize", ())                                   \
  X(begin_capture, "cuStreamBeginCapture_v2", "hipStreamBeginCapture", (void*, int))                      \
  X(end_capture, "cuStreamEndCapture", "hipStreamEndCapture", (void*, void**))                            \
  X(instantiate, "cuGraphInstantiateWithFlags", "hipGraphInstantiateWithFlags", (void**, void*, Address)) \
  X(launch_graph, "cuGraphLaunch", "hipGraphLaunch", (void*, void*))

// member, name after "nvrtc" or "hiprtc", parameters
#define SOFTGPU_COMPILER_API(X)                                                      \
  X(create, "CreateProgram",                                                         \
    (void**, const char*, const char*, int, const char* const*, const char* const*)) \
  X(compile, "CompileProgram", (void*, int, const char* const*))                     \
  X(destroy, "DestroyProgram", (void**))                                             \
  X(log_size, "GetProgramLogSize", (void*, size_t*))                                 \
  X(log, "GetProgramLog", (void*, char*))                                            \
  X(add_expression, "AddNameExpression", (void*, const char*))                       \
  X(lowered_name, "GetLoweredName", (void*, const char*, const char**))

struct Gpu {
#define SOFTGPU_MEMBER(member, cuda, hip, parameters) int(*member) parameters;
  SOFTGPU_DRIVER(SOFTGPU_MEMBER)
#undef SOFTGPU_MEMBER
#define SOFTGPU_MEMBER(member, name, parameters) int(*member) parameters;
  SOFTGPU_COMPILER_API(SOFTGPU_MEMBER)
#undef SOFTGPU_MEMBER
  int (*code_size)(void*, size_t*);
  int (*code)(void*, char*);

  explicit Gpu(Vendor v) : vendor(v), driver_(open(driver_file())), compiler_(open(compiler_file())) {
    const std::string prefix = is_hip() ? "hiprtc" : "nvrtc";
#define SOFTGPU_MEMBER(member, cuda, hip, parameters) find(member, driver_, is_hip() ? hip : cuda);
    SOFTGPU_DRIVER(SOFTGPU_MEMBER)
#undef SOFTGPU_MEMBER
#define SOFTGPU_MEMBER(member, name, parameters) find(member, compiler_, prefix + name);
    SOFTGPU_COMPILER_API(SOFTGPU_MEMBER)
#undef SOFTGPU_MEMBER
    find(code_size, compiler_, prefix + (is_hip() ? "GetCodeSize" : "GetCUBINSize"));
    find(code, compiler_, prefix + (is_hip() ? "GetCode" : "GetCUBIN"));
    if (init(0)) fail("cuInit");
    use_device(0);
  }

  /// For the calling thread.
  void use_device(int ordinal) {
    if (is_hip()) {
      int (*set)(int);
      find(set, driver_, "hipSetDevice");
      if (set(ordinal)) fail("hipSetDevice");
      return;
    }
    int (*retain)(void**, int);
    int (*set)(void*);
    find(retain, driver_, "cuDevicePrimaryCtxRetain");
    find(set, driver_, "cuCtxSetCurrent");
    void* context;
    if (retain(&context, ordinal) || set(context)) fail("cuCtxSetCurrent");
  }

  template <class F>
  void driver_function(F& pointer, const char* name) const {
    find(pointer, driver_, name);
  }
  bool is_hip() const { return vendor == Vendor::hip; }

  const Vendor vendor;

 private:
  void *driver_, *compiler_;

  const char* driver_file() const {
    return is_hip() ? SOFTGPU_FOLDER "/libamdhip64.so.7" : SOFTGPU_FOLDER "/libcuda.so.1";
  }
  const char* compiler_file() const {
    return is_hip() ? SOFTGPU_FOLDER "/libhiprtc.so.7" : SOFTGPU_FOLDER "/libnvrtc.so.13";
  }
  [[noreturn]] static void fail(const std::string& what) {
    fprintf(stderr, "%s failed\n", what.c_str());
    exit(3);
  }
  static void* open(const char* file) {
    void* library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
    return library;
  }
  template <class F>
  static void find(F& pointer, void* library, const std::string& name) {
    pointer = reinterpret_cast<F>(dlsym(library, name.c_str()));
    if (!pointer) fail(name);
  }
};

}  // namespace softgpu
