#include "runtime/gpu/library.h"

#include "base/environment.h"

namespace tenon::gpu {

void KernelLibrary::check(int result, std::string_view tried) const {
  if (result != 0) throw environment_error("{}: {} failed (status {})", name, tried, result);
}

LibraryHandle& LibraryHandles::of(Gpu& gpu, const KernelLibrary& library, int (*create)(void**)) {
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] = handles_.try_emplace(&gpu);
  LibraryHandle& h = place->second;
  if (is_new) {
    gpu.activate();
    h.status = create(&h.handle);
  }
  library.check(h.status, "opening the library");
  return h;
}

}  // namespace tenon::gpu
