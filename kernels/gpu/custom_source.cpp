#include "kernels/gpu/custom_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {

std::string custom_source(std::string_view text, std::string_view function, std::span<const DType> operands,
                          std::span<const DType> results) {
  std::string parameters, values;
  int count = 0;
  const auto add = [&](DType dtype, std::string_view constant) {
    parameters += fmt::format("{}{}* p{}, ", constant, storage(dtype), count);
    values += fmt::format("p{}, ", count++);
  };
  for (const DType dtype : operands) add(dtype, "const ");
  for (const DType dtype : results) add(dtype, "");
  return translation_unit(
      "kernels/gpu/custom.gpu.h",
      fmt::format(
          "{0}\nextern \"C\" __global__ void __launch_bounds__({1}) custom({2}const tenon_call call) {{\n"
          "  const long long element = (long long)blockIdx.x * {1} + threadIdx.x;\n"
          "  if (element < call.elements) {3}({4}call, element);\n"
          "}}\n",
          text, custom_threads, parameters, function, values));
}

}  // namespace tenon::gpu
