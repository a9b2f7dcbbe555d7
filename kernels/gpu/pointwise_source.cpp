#include "kernels/gpu/pointwise_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {

std::string special_value(std::string_view function) {
  return fmt::format("meaning(SpecialFunction::{}, double(number(a)), double(number(b)))", function);
}

std::string pointwise_source(DType dtype, std::string_view value) {
  return translation_unit(
      "kernels/gpu/pointwise.gpu.h",
      fmt::format("extern \"C\" __global__ void __launch_bounds__({0}) pointwise(const {1}* of_a, "
                  "const {1}* of_b, {1}* result, const PointwiseShape s) {{\n"
                  "  const Int index = Int(blockIdx.x) * {0} + threadIdx.x;\n"
                  "  if (index >= s.count) return;\n"
                  "  const PointwisePlace at(s, index);\n"
                  "  const {1} a = of_a[at.a], b = of_b[at.b];\n"
                  "  result[index] = convert<{1}>({2});\n"
                  "}}\n",
                  pointwise_threads, storage(dtype), value));
}

}  // namespace tenon::gpu
