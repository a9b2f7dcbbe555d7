#include "runtime/gpu/blas.h"

#include <fmt/format.h>

#include "base/environment.h"
#include "runtime/gpu/open_library.h"

namespace tenon::gpu {
namespace {

// cublasComputeType_t, cublasOperation_t, cublasLtMatmulDescAttributes_t,
// cublasLtMatmulPreferenceAttributes_t, and hipBLASLt's.
constexpr BlasNumbers of_cuda{.float32_sums = 68,
                              .tf32_sums = 77,
                              .as_it_lies = 0,
                              .transposed = 1,
                              .left_operation = 3,
                              .right_operation = 4,
                              .epilogue = 7,
                              .bias = 8,
                              .least_alignment = {5, 6, 7, 8},
                              .name = "cublaslt"};
constexpr BlasNumbers of_hip{.float32_sums = 2,
                             .tf32_sums = 6,
                             .as_it_lies = 111,
                             .transposed = 112,
                             .left_operation = 0,
                             .right_operation = 1,
                             .epilogue = 2,
                             .bias = 3,
                             .least_alignment = {},
                             .name = "hipblaslt"};

Blas load(Vendor vendor) {
  const bool is_cuda = vendor == Vendor::cuda;
  Blas b{.library = {}, .numbers = is_cuda ? of_cuda : of_hip};
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

template <Vendor vendor>
const Blas& loaded() {
  static const Blas b = load(vendor);
  return b;
}

}  // namespace

const Blas& blas(Vendor vendor) {
  return vendor == Vendor::cuda ? loaded<Vendor::cuda>() : loaded<Vendor::hip>();
}

void Blas::check(int result, std::string_view tried) const {
  if (result != 0) throw environment_error("{}: {} failed (status {})", numbers.name, tried, result);
}

void* blas_handle(Gpu& gpu) {
  static std::mutex mutex;
  static auto* const handles = new std::map<const Gpu*, void*>;
  const std::lock_guard lock(mutex);
  const auto found = handles->find(&gpu);
  if (found != handles->end()) return found->second;
  const Blas& b = blas(gpu.driver().vendor);
  gpu.activate();
  void* handle = nullptr;
  b.check(b.create(&handle), "opening the library");
  return handles->emplace(&gpu, handle).first->second;
}

std::string blas_version(Gpu& gpu) {
  const Blas& b = blas(gpu.driver().vendor);
  int version = 0;
  if (b.version)
    version = b.version();
  else
    b.check(b.version_of(blas_handle(gpu), &version), "asking for the library's version");
  return fmt::format("{} ({})", version, b.library.found);
}

}  // namespace tenon::gpu
