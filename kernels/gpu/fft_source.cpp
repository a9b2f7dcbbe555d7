#include "kernels/gpu/fft_source.h"

#include <fmt/format.h>

#include "kernels/gpu/loop_source.h"

namespace tenon::gpu {

std::string fft_source(DType dtype, bool in_shared) {
  const std::string number = fmt::format("ComplexNumber<{}>", dtype == DType::c64 ? "float" : "double");
  return translation_unit(
      "kernels/gpu/fft.gpu.h",
      fmt::format(
          "struct FftShape {{ Int length, inverse; }};\n"
          "extern \"C\" __global__ void __launch_bounds__(fft_threads) fft(const {0}* x, {0}* y, "
          "{1}const FftShape s) {{\n"
          "{2}"
          "  const Int line = Int(blockIdx.x) * s.length;\n"
          "  transform_line(x + line, y + line, work, int(s.length), s.inverse != 0);\n"
          "}}\n",
          number, in_shared ? "" : number + "* memory, ",
          in_shared ? fmt::format("  GPU_DYNAMIC_SHARED({}, work);\n", number)
                    : fmt::format("  {}* const work = memory + Int(blockIdx.x) * 3 * s.length;\n", number)));
}

}  // namespace tenon::gpu
