#include "runtime/gpu/dnn.h"

#include <fmt/ranges.h>

#include <array>

#include "base/error.h"
#include "runtime/gpu/open_library.h"

namespace tenon::gpu {
namespace {

Dnn load(Vendor vendor) {
  const bool is_cuda = vendor == Vendor::cuda;
  Dnn d{{.name = is_cuda ? "cudnn" : "miopen", .library = {}}, is_cuda ? dnn_of_cuda : dnn_of_hip};
  void* const handle = open_first({is_cuda ? "libcudnn.so.9" : "libMIOpen.so.1"}, d.library);
#define GPU_DNN_FUNCTION(function, cuda, hip, arguments) \
  find_function(d.function, is_cuda ? #cuda : #hip, handle, d.library);
#include "runtime/gpu/dnn_functions.def"
#undef GPU_DNN_FUNCTION
  return d;
}

}  // namespace

int Dnn::number_of(DType dtype) const {
  switch (dtype) {
    case DType::f32: return numbers.float32;
    case DType::f16: return numbers.float16;
    case DType::bf16: return numbers.bfloat16;
    default: TENON_CHECK(false);
  }
}

const Dnn& dnn(Vendor vendor) { return loaded_once<load>(vendor); }

LibraryHandle& dnn_handle(Gpu& gpu) {
  static auto* const handles = new LibraryHandles;
  const Dnn& d = dnn(gpu.driver().vendor);
  return handles->of(gpu, d, d.create);
}

std::string dnn_version(Gpu& gpu) {
  const Dnn& d = dnn(gpu.driver().vendor);
  (void)dnn_handle(gpu);
  constexpr std::string_view tried = "asking for the library's version";
  std::array<std::size_t, 3> version{};
  if (d.version) d.check(d.version(&version[0], &version[1], &version[2]), tried);
  for (int i = 0; d.property && i < 3; ++i) {
    int number = 0;
    d.check(d.property(i, &number), tried);
    version[static_cast<std::size_t>(i)] = static_cast<std::size_t>(number);
  }
  return fmt::format("{} ({})", fmt::join(version, "."), d.library.found);
}

}  // namespace tenon::gpu
