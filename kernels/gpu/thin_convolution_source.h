// Convolutions of thin groups as the text of a GPU kernel (thin_convolution.gpu.h), with any tile program
// behind them.
#pragma once
#include "kernels/conv_shape.h"
#include "kernels/gpu/loop_form.h"

namespace tenon::gpu {

/// The input's channels lie side by side; the weights are dense [taps, Cin / groups, Cout].
struct ThinConvolution {
  DType x_type = DType::f32, weights_type = DType::f32, sum_type = DType::f32;
  ConvShape shape;
  std::int64_t image = 0, spatial[3] = {};  // the input's strides: of images, and of d, h and w
};

/// The kernel `thin` takes the input, the weights, the epilogue's buffers in order, the struct and the
/// epilogue's arguments (loop_arguments with tile_form). Its source depends on no size but a few of w's.
struct ThinKernel {
  std::string source;
  std::vector<std::byte> arguments;  // the struct
  std::int64_t blocks = 0;
  int threads = 0;
};
ThinKernel thin_kernel(const ThinConvolution&, const LoopProgram& epilogue);

}  // namespace tenon::gpu
