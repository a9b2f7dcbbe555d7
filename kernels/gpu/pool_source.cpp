#include "kernels/gpu/pool_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {

std::string pool_source(DType dtype, bool mean, bool adaptive) {
  return translation_unit("kernels/gpu/pool.gpu.h",
                          fmt::format("extern \"C\" __global__ void __launch_bounds__({}) pool(const {}* x, "
                                      "{}* y, const PoolShape s) {{\n"
                                      "  const Int index = Int(blockIdx.x) * {} + threadIdx.x;\n"
                                      "  if (index < s.images * s.d.out * s.h.out * s.w.out * s.channels)\n"
                                      "    pool_element<{}, {}, {}>(x, y, s, index);\n"
                                      "}}\n",
                                      pool_threads, storage(dtype), storage(dtype), pool_threads,
                                      storage(dtype), mean, adaptive));
}

}  // namespace tenon::gpu
