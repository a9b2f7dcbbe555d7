// What our libraries of matrix products run on the device.
#pragma once

namespace softgpu {

/// Of matrices by columns: d[m, n] = op(a)[m, k] x op(b)[k, n] + bias[m].
struct ProductShape {
  long long m, n, k, a_stride, b_stride, d_stride;
  int dtype, a_transposed, b_transposed, tf32, relu, has_bias;
};

inline constexpr char kProductKernel[] = R"(#include "emulation.h"
struct ProductShape {
  long long m, n, k, a_stride, b_stride, d_stride;
  int dtype, a_transposed, b_transposed, tf32, relu, has_bias;
};
inline float read_number(const void* from, long long at, const ProductShape& s) {
  if (s.dtype == 2) return float(static_cast<const _Float16*>(from)[at]);
  float x;
  unsigned bits = s.dtype == 14 ? unsigned(static_cast<const unsigned short*>(from)[at]) << 16
                                : static_cast<const unsigned*>(from)[at];
  if (s.tf32) bits = (bits + 0x1000u) & 0xffffe000u;
  memcpy(&x, &bits, sizeof x);
  return x;
}
inline void write_number(void* to, long long at, float x, const ProductShape& s) {
  unsigned bits;
  memcpy(&bits, &x, sizeof bits);
  if (s.dtype == 2) static_cast<_Float16*>(to)[at] = _Float16(x);
  else if (s.dtype == 14)
    static_cast<unsigned short*>(to)[at] = x != x ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  else static_cast<float*>(to)[at] = x;
}
// The workspace is written to, so that it must be there.
extern "C" __global__ void product(const char* a, const char* b, char* d, const char* bias, unsigned* workspace,
                                   const ProductShape s) {
  const long long at = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (workspace && at == 0) *workspace = ~0u;
  if (at >= s.m * s.n) return;
  const long long i = at % s.m, j = at / s.m;
  double sum = 0;
  for (long long k = 0; k < s.k; k++)
    sum += double(read_number(a, s.a_transposed ? i * s.a_stride + k : k * s.a_stride + i, s)) *
           read_number(b, s.b_transposed ? k * s.b_stride + j : j * s.b_stride + k, s);
  if (s.has_bias) sum += read_number(bias, i, s);
  if (s.relu && sum < 0) sum = 0;
  write_number(d, j * s.d_stride + i, float(sum), s);
}
)";

}  // namespace softgpu
