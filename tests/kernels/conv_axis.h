// A spatial axis of a convolution, padded by as much on both sides.
#pragma once
#include "kernels/conv_shape.h"

namespace tenon::cpu {

inline ConvAxis axis(long in, long kernel, long stride = 1, long pad = 0, long dilation = 1) {
  return {.in = in,
          .kernel = kernel,
          .stride = stride,
          .pad_before = pad,
          .pad_after = pad,
          .dilation = dilation};
}

}  // namespace tenon::cpu
