#include "runtime/gpu/blas.h"

#include <fmt/ranges.h>

#include <array>

#include "runtime/gpu/open_library.h"

namespace tenon::gpu {
namespace {

Blas load(Vendor vendor) {
  const bool is_cuda = vendor == Vendor::cuda;
  Blas b{{.name = is_cuda ? "cublaslt" : "hipblaslt", .library = {}}, is_cuda ? blas_of_cuda : blas_of_hip};
  const std::vector<std::string> names =
      is_cuda ? std::vector<std::string>{"libcublasLt.so.13", "libcublasLt.so.12"}
              : std::vector<std::string>{"libhipblaslt.so.1", "libhipblaslt.so.0"};
  void* const handle = open_first(names, b.library);
#define GPU_BLAS_FUNCTION(function, cuda, hip, arguments) \
  find_function(b.function, is_cuda ? #cuda : #hip, handle, b.library);
#include "runtime/gpu/blas_functions.def"
#undef GPU_BLAS_FUNCTION
  return b;
}

}  // namespace

const Blas& blas(Vendor vendor) { return loaded_once<load>(vendor); }

void* blas_handle(Gpu& gpu) {
  static auto* const handles = new LibraryHandles;
  const Blas& b = blas(gpu.driver().vendor);
  return handles->of(gpu, b, b.create).handle;
}

std::string blas_version(Gpu& gpu) {
  const Blas& b = blas(gpu.driver().vendor);
  constexpr std::string_view tried = "asking for the library's version";
  void* const handle = blas_handle(gpu);
  std::array<int, 3> version{};
  if (!b.property) {
    b.check(b.version_of(handle, version.data()), tried);
    return fmt::format("{} ({})", version[0], b.library.found);
  }
  for (int i = 0; i < 3; ++i) b.check(b.property(i, &version[static_cast<std::size_t>(i)]), tried);
  return fmt::format("{} ({})", fmt::join(version, "."), b.library.found);
}

}  // namespace tenon::gpu
