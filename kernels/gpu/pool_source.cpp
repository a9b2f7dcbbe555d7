#include "kernels/gpu/pool_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {

namespace {

std::string source(DType dtype, std::string_view parameters, std::string_view call) {
  return translation_unit(
      "kernels/gpu/pool.gpu.h",
      fmt::format("extern \"C\" __global__ void __launch_bounds__({0}) pool(const {1}* x, "
                  "{1}* y, {2}const PoolShape s) {{\n"
                  "  const Int index = Int(blockIdx.x) * {0} + threadIdx.x;\n"
                  "  if (index < s.images * s.d.out * s.h.out * s.w.out * s.channels)\n"
                  "    {3};\n"
                  "}}\n",
                  pool_threads, storage(dtype), parameters, call));
}

}  // namespace

std::string pool_source(DType dtype, bool mean, bool adaptive) {
  return source(dtype, "",
                fmt::format("pool_element<{}, {}, {}, {}>(x, y, s, index)", storage(dtype), computed(dtype),
                            mean, adaptive));
}

std::string pool_with_places_source(DType dtype, bool adaptive) {
  return source(dtype, "Int* places, ",
                fmt::format("pool_largest<{}, {}, {}>(x, y, places, s, index)", storage(dtype),
                            computed(dtype), adaptive));
}

}  // namespace tenon::gpu
