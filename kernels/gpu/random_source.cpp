#include "kernels/gpu/random_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"

namespace tenon::gpu {

std::string random_source(std::int64_t bits, bool has_step) {
  return translation_unit(
      "kernels/gpu/random.gpu.h",
      fmt::format("extern \"C\" __global__ void __launch_bounds__({0}) random_bits({1}Int* out, "
                  "const RandomShape s) {{\n"
                  "  draw<{2}>(out, s, {3}, Int(blockIdx.x) * {0} + threadIdx.x);\n"
                  "}}\n",
                  random_threads, has_step ? "const Int* step, " : "", drawn_at_once(bits),
                  has_step ? "unsigned(*step)" : "0"));
}

}  // namespace tenon::gpu
