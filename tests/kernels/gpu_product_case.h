// A product or a convolution as a case, computed with plain loops.
#pragma once
#include <optional>

#include "kernels/gpu/product_tiling.h"
#include "tests/kernels/gpu_cases.h"

namespace tenon::gpu {

/// "product NAME", with bias and relu behind it. Without a tiling, that of a device with one processor.
GpuCase matrix_case(const std::string& name, const Product& p, const std::optional<Tiling>& tiling = {});
/// "convolution NAME", of an input whose channels lie side by side.
GpuCase conv_case(const std::string& name, const ConvShape& s, DType dtype,
                  const std::optional<Tiling>& tiling = {});

constexpr ConvAxis three_taps(long in, long stride) {
  return {.in = in, .kernel = 3, .stride = stride, .pad_before = 1, .pad_after = 1};
}

}  // namespace tenon::gpu
