#include "kernels/gpu/matrix_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_text.h"

namespace tenon::gpu {
namespace {

std::string type_of(const MatrixBuffer& buffer) {
  const std::string type(buffer.dtype == DType::c64    ? "ComplexNumber<float>"
                         : buffer.dtype == DType::c128 ? "ComplexNumber<double>"
                                                       : storage(buffer.dtype));
  return buffer.is_result ? type : "const " + type;
}

}  // namespace

std::string matrix_source(const MatrixProgram& p) {
  std::string parameters, views;
  for (const MatrixBuffer& b : p.buffers) parameters += fmt::format("{}* {}_data, ", type_of(b), b.name);
  if (!p.in_shared) parameters += "double* numbers, ";
  if (p.may_fault) parameters += "Fault* fault, ";
  for (const MatrixBuffer& b : p.buffers) {
    parameters += fmt::format("const Layout {}_at, ", b.name);
    views += fmt::format("    const auto {0} = matrix_of({0}_data, {0}_at, number);\n", b.name);
  }
  return translation_unit(
      fmt::format("kernels/gpu/{}.gpu.h", p.header),
      fmt::format(
          "extern \"C\" __global__ void __launch_bounds__(256) on_matrices({}const Blocks blocks) {{\n"
          "{}"
          "  for (Int item = blockIdx.x; item < blocks.items; item += gridDim.x) {{\n"
          "    const Int number = item / blocks.parts;\n"
          "    const Part part = part_of(blocks, item);\n"
          "    const Memory memory{{{}}};\n{}"
          "    {};\n"
          "    __syncthreads();\n"
          "  }}\n}}\n",
          parameters, p.in_shared ? "  GPU_DYNAMIC_SHARED(double, numbers);\n" : "",
          p.in_shared ? "numbers" : "numbers + Int(blockIdx.x) * blocks.words", views, p.call));
}

std::int64_t matrix_words(std::int64_t rows, std::int64_t columns) { return rows * (columns | 1); }

}  // namespace tenon::gpu
