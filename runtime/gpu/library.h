// What is alike of the vendors' libraries of kernels (blas.h, dnn.h).
#pragma once
#include <map>
#include <mutex>
#include <utility>

#include "runtime/gpu/gpu.h"

namespace tenon::gpu {

/// Scratch memory that a step of a library takes: what cuBLAS takes on Hopper.
inline constexpr std::size_t library_workspace = 32 << 20;

/// Where it is not ok(), nothing of it may be called.
struct KernelLibrary {
  std::string_view name;  // "cublaslt"
  Library library;

  bool ok() const { return library.ok(); }
  /// Throws Error (environment_failed) unless `result` is 0.
  void check(int result, std::string_view tried) const;
};

/// A library in use on a GPU.
struct LibraryHandle {
  void* handle = nullptr;
  int status = 0;    // of the library when it was opened
  std::mutex mutex;  // of calls that concern the handle's stream
};

/// What is in use, for as long as the program runs.
class LibraryHandles {
 public:
  /// Made with the first call for this GPU, which is activated then. Throws Error; then it is not tried
  /// again.
  LibraryHandle& of(Gpu&, const KernelLibrary&, int (*create)(void**));

 private:
  std::mutex mutex_;
  std::map<const Gpu*, LibraryHandle> handles_;
};

/// What a library makes and takes back.
class LibraryObject {
 public:
  using Destroy = int (*)(void*);
  LibraryObject(void* object, Destroy destroy) : object_(object), destroy_(destroy) {}
  LibraryObject(LibraryObject&& other) noexcept
      : object_(std::exchange(other.object_, nullptr)), destroy_(other.destroy_) {}
  LibraryObject& operator=(LibraryObject&&) = delete;
  ~LibraryObject() {
    if (object_) (void)destroy_(object_);
  }
  void* get() const { return object_; }

 private:
  void* object_;
  Destroy destroy_;
};

}  // namespace tenon::gpu
