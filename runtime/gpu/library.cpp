#include "runtime/gpu/library.h"

#include "base/environment.h"

namespace tenon::gpu {

void KernelLibrary::check(int result, std::string_view tried) const {
  if (result != 0) throw environment_error("{}: {} failed (status {})", name, tried, result);
}

LibraryHandle& LibraryHandles::of(Gpu& gpu, const KernelLibrary& library, int (*create)(void**)) {
  const std::lock_guard lock(mutex_);
  LibraryHandle& h = handles_[&gpu];
  if (h.handle) return h;
  gpu.activate();
  library.check(create(&h.handle), "opening the library");
  return h;
}

}  // namespace tenon::gpu
