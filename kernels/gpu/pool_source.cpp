#include "kernels/gpu/pool_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {

namespace {

std::string source(DType dtype, const PoolForm& form, std::string_view parameters, std::string_view call) {
  return translation_unit(
      "kernels/gpu/pool.gpu.h",
      fmt::format("extern \"C\" __global__ void __launch_bounds__({0}) pool(const {1}* x, "
                  "{1}* y, {2}const PoolShape s) {{\n"
                  "  using Index = {3};\n"
                  "  const Index index = Index(blockIdx.x) * {0} + threadIdx.x;\n"
                  "  {4};\n"
                  "}}\n",
                  pool_threads, storage(dtype), parameters, form.wide ? "Bits" : "unsigned", call));
}

}  // namespace

std::string pool_source(DType dtype, bool mean, bool adaptive, const PoolForm& form) {
  return source(dtype, form, "",
                fmt::format("pool_elements<{}, {}, {}, {}, {}>(x, y, s, index)", storage(dtype),
                            computed(dtype), mean, adaptive, form.channels));
}

std::string pool_with_places_source(DType dtype, bool adaptive, const PoolForm& form) {
  return source(dtype, form, "Int* places, ",
                fmt::format("pool_largest<{}, {}, {}, {}>(x, y, places, s, index)", storage(dtype),
                            computed(dtype), adaptive, form.channels));
}

}  // namespace tenon::gpu
