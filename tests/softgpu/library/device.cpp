#include "library/device.h"

#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace softgpu {
namespace {

#ifdef SOFTGPU_HIP
constexpr bool is_hip = true;
constexpr char kArchitecture[] = "gfx942";
#else
constexpr bool is_hip = false;
constexpr char kArchitecture[] = "sm_90";
#endif
constexpr int no_library = 999;

std::string folder() {
  Dl_info info{};
  dladdr(reinterpret_cast<void*>(&folder), &info);
  const std::string path = info.dli_fname ? info.dli_fname : "";
  return path.substr(0, path.rfind('/') + 1);
}

/// A function by CUDA's or HIP's name.
template <class F>
F* function(const char* cuda, const char* hip, bool of_compiler = false) {
  const std::string file = folder() + (of_compiler ? is_hip ? "libhiprtc.so.7" : "libnvrtc.so.13"
                                       : is_hip    ? "libamdhip64.so.7"
                                                   : "libcuda.so.1");
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<F*>(dlsym(library, is_hip ? hip : cuda)) : nullptr;
}

int compile(const char* source, std::string& image) {
  const auto create =
      function<int(void**, const char*, const char*, int, const char* const*, const char* const*)>(
          "nvrtcCreateProgram", "hiprtcCreateProgram", true);
  const auto build =
      function<int(void*, int, const char* const*)>("nvrtcCompileProgram", "hiprtcCompileProgram", true);
  const auto size = function<int(void*, size_t*)>("nvrtcGetCUBINSize", "hiprtcGetCodeSize", true);
  const auto code = function<int(void*, char*)>("nvrtcGetCUBIN", "hiprtcGetCode", true);
  const auto destroy = function<int(void**)>("nvrtcDestroyProgram", "hiprtcDestroyProgram", true);
  if (!create || !build || !size || !code || !destroy) return no_library;
  const char* const named = getenv("SOFTGPU_ARCH");
  const std::string architecture =
      std::string(is_hip ? "--offload-arch=" : "--gpu-architecture=") + (named ? named : kArchitecture);
  const char* const options[] = {architecture.c_str()};
  void* program = nullptr;
  if (const int status = create(&program, source, "library.gpu", 0, nullptr, nullptr)) return status;
  int status = build(program, 1, options);
  size_t bytes = 0;
  if (!status) status = size(program, &bytes);
  image.resize(bytes);
  if (!status) status = code(program, image.data());
  destroy(&program);
  return status;
}

/// Of the device that is current.
int find_kernel(const char* source, const char* name, void** found) {
  static std::mutex mutex;
  static auto* const modules = new std::map<std::pair<int, const char*>, void*>;
  const auto ordinal = function<int(int*)>("cuCtxGetDevice", "hipGetDevice");
  const auto load = function<int(void**, const void*)>("cuModuleLoadData", "hipModuleLoadData");
  const auto find = function<int(void**, void*, const char*)>("cuModuleGetFunction", "hipModuleGetFunction");
  int device = 0;
  if (!ordinal || !load || !find) return no_library;
  if (const int status = ordinal(&device)) return status;
  const std::lock_guard lock(mutex);
  void*& module = (*modules)[{device, source}];
  if (!module) {
    std::string image;
    if (const int status = compile(source, image)) return status;
    if (const int status = load(&module, image.data())) return status;
  }
  return find(found, module, name);
}

}  // namespace

int launch(const char* source, const char* kernel, long long threads, void** arguments, void* stream) {
  const auto start = function<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  void*, void**, void**)>("cuLaunchKernel", "hipModuleLaunchKernel");
  void* found = nullptr;
  if (!start) return no_library;
  if (const int status = find_kernel(source, kernel, &found)) return status;
  constexpr unsigned block = 128;
  const auto blocks = static_cast<unsigned>((threads + block - 1) / block);
  return start(found, blocks, 1, 1, block, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace softgpu
