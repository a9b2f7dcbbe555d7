#include "blas/device.h"

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

int compile(std::string& image) {
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
  if (const int status = create(&program, kProductKernel, "blas.gpu", 0, nullptr, nullptr)) return status;
  int status = build(program, 1, options);
  size_t bytes = 0;
  if (!status) status = size(program, &bytes);
  image.resize(bytes);
  if (!status) status = code(program, image.data());
  destroy(&program);
  return status;
}

/// Of the device that is current.
int kernel(void** found) {
  static std::mutex mutex;
  static auto* const kernels = new std::map<int, void*>;
  const auto ordinal = function<int(int*)>("cuCtxGetDevice", "hipGetDevice");
  const auto load = function<int(void**, const void*)>("cuModuleLoadData", "hipModuleLoadData");
  const auto find = function<int(void**, void*, const char*)>("cuModuleGetFunction", "hipModuleGetFunction");
  int device = 0;
  if (!ordinal || !load || !find) return no_library;
  if (const int status = ordinal(&device)) return status;
  const std::lock_guard lock(mutex);
  void*& kept = (*kernels)[device];
  if (!kept) {
    std::string image;
    void* module = nullptr;
    if (const int status = compile(image)) return status;
    if (const int status = load(&module, image.data())) return status;
    if (const int status = find(&kept, module, "product")) return status;
  }
  *found = kept;
  return 0;
}

}  // namespace

int run_product(const void* a, const void* b, void* d, const void* bias, void* workspace,
                const ProductShape& shape, void* stream) {
  const auto launch =
      function<int(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                   void**)>("cuLaunchKernel", "hipModuleLaunchKernel");
  void* found = nullptr;
  if (!launch) return no_library;
  if (const int status = kernel(&found)) return status;
  ProductShape s = shape;
  void* arguments[] = {&a, &b, &d, &bias, &workspace, &s, nullptr};
  constexpr unsigned threads = 128;
  const auto blocks = static_cast<unsigned>((s.m * s.n + threads - 1) / threads);
  return launch(found, blocks, 1, 1, threads, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace softgpu
