// What our libraries of convolutions run on the device.
#pragma once

namespace softgpu {

/// Sizes of five axes N, C, D, H, W, and strides in elements.
struct ConvolutionShape {
  long long x[5], w[5], y[5], x_stride[5], w_stride[5], y_stride[5];
  long long pad[3], stride[3], dilation[3], groups;
  int dtype, cut, relu, has_bias,
      has_z;  // dtype: 0 float32, 1 float16, 2 bfloat16; cut: factors have TF32's bits
};

inline constexpr char kConvolutionKernels[] = R"(#include "emulation.h"
struct ConvolutionShape {
  long long x[5], w[5], y[5], x_stride[5], w_stride[5], y_stride[5];
  long long pad[3], stride[3], dilation[3], groups;
  int dtype, cut, relu, has_bias, has_z;
};
inline float read_number(const void* from, long long at, int dtype, bool cut) {
  if (dtype == 1) return float(static_cast<const _Float16*>(from)[at]);
  float x;
  unsigned bits = dtype == 2 ? unsigned(static_cast<const unsigned short*>(from)[at]) << 16
                             : static_cast<const unsigned*>(from)[at];
  if (cut) bits = (bits + 0x1000u) & 0xffffe000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}
inline void write_number(void* to, long long at, float x, int dtype) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  if (dtype == 1) static_cast<_Float16*>(to)[at] = _Float16(x);
  else if (dtype == 2)
    static_cast<unsigned short*>(to)[at] = x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  else static_cast<float*>(to)[at] = x;
}
// The element of y that a thread computes; false: none.
inline bool place(const ConvolutionShape& s, long long (&i)[5], long long& at) {
  long long rest = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  for (int a = 4; a >= 0; a--) i[a] = rest % s.y[a], rest /= s.y[a];
  at = 0;
  for (int a = 0; a < 5; a++) at += i[a] * s.y_stride[a];
  return rest == 0;
}
// The workspace is written to, so that it must be there.
extern "C" __global__ void convolve(const char* x, const char* w, char* y, const char* z, const char* bias,
                                    unsigned* workspace, const ConvolutionShape s) {
  long long i[5], at;
  if (!place(s, i, at)) return;
  if (workspace && at == 0) *workspace = ~0u;
  const long long first = i[1] / (s.y[1] / s.groups) * s.w[1];
  double sum = 0;
  for (long long d = 0; d < s.w[2]; d++)
    for (long long h = 0; h < s.w[3]; h++)
      for (long long v = 0; v < s.w[4]; v++) {
        const long long tap[3] = {d, h, v};
        long long from = i[0] * s.x_stride[0], of_w = i[1] * s.w_stride[0];
        bool inside = true;
        for (int a = 0; a < 3; a++) {
          const long long p = i[2 + a] * s.stride[a] + tap[a] * s.dilation[a] - s.pad[a];
          inside = inside && p >= 0 && p < s.x[2 + a];
          from += p * s.x_stride[2 + a];
          of_w += tap[a] * s.w_stride[2 + a];
        }
        for (long long c = 0; inside && c < s.w[1]; c++)
          sum += double(read_number(x, from + (first + c) * s.x_stride[1], s.dtype, s.cut)) *
                 read_number(w, of_w + c * s.w_stride[1], s.dtype, s.cut);
      }
  if (s.has_z) sum += read_number(z, at, s.dtype, false);
  if (s.has_bias) sum += read_number(bias, i[1], s.dtype, false);
  write_number(y, at, float(s.relu && sum < 0 ? 0 : sum), s.dtype);
}
// y = relu(y + bias), or either
extern "C" __global__ void finish(char* y, const char* bias, const ConvolutionShape s) {
  long long i[5], at;
  if (!place(s, i, at)) return;
  float sum = read_number(y, at, s.dtype, false);
  if (s.has_bias) sum += read_number(bias, i[1], s.dtype, false);
  write_number(y, at, s.relu && sum < 0 ? 0 : sum, s.dtype);
}
)";

}  // namespace softgpu
