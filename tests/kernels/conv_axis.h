// Shapes of convolutions in few words: an axis that is padded by as much on both sides, and a depthwise one.
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

inline ConvShape depthwise_of(long images, long channels, const ConvAxis& h, const ConvAxis& w) {
  return {.N = images, .Cin = channels, .Cout = channels, .h = h, .w = w, .groups = channels};
}

}  // namespace tenon::cpu
