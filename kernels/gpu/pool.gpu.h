// Pooling: a thread computes one element of the result; neighbours compute neighbouring channels.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

struct PoolAxis {
  Int in, out, kernel, stride, pad, dilation, x_stride, y_stride;
};

/// The places of a window that lie inside the image: first, first + step, ...
struct Span {
  Int first, count, step;
};

template <bool Adaptive>
GPU_INLINE Span window_of(const PoolAxis& a, Int out) {
  if (Adaptive) {
    const Int first = out * a.in / a.out;
    return {first, ((out + 1) * a.in + a.out - 1) / a.out - first, 1};
  }
  Int first = out * a.stride - a.pad;
  const Int skipped = first < 0 ? (-first + a.dilation - 1) / a.dilation : 0;
  first += skipped * a.dilation;
  const Int inside = first < a.in ? (a.in - first + a.dilation - 1) / a.dilation : 0;
  const Int left = a.kernel - skipped;
  return {first, left < inside ? (left > 0 ? left : 0) : inside, a.dilation};
}

/// Places that count for the divisor where padding counts: PyTorch cuts them at the padded image.
GPU_INLINE Int padded_count(const PoolAxis& a, Int out) {
  const Int first = out * a.stride - a.pad, end = first + a.kernel, limit = a.in + a.pad;
  return (end < limit ? end : limit) - first;
}

struct PoolShape {
  Int images, channels, x_image, x_channel, y_image, y_channel;
  Int counts_padding, divisor;  // of means; divisor 0: the window's size
  PoolAxis d, h, w;
};

template <class T, bool Mean, bool Adaptive>
GPU_INLINE void pool_element(const T* x, T* y, const PoolShape& s, Int index) {
  const Int channel = index % s.channels;
  index /= s.channels;
  const Int w = index % s.w.out;
  index /= s.w.out;
  const Int h = index % s.h.out;
  index /= s.h.out;
  const Int d = index % s.d.out, image = index / s.d.out;
  const Span in_d = window_of<Adaptive>(s.d, d), in_h = window_of<Adaptive>(s.h, h),
             in_w = window_of<Adaptive>(s.w, w);
  const T* from = x + image * s.x_image + channel * s.x_channel;
  float result = Mean ? 0.0f : -TENON_INFINITY;
  for (Int i = 0; i < in_d.count; ++i)
    for (Int j = 0; j < in_h.count; ++j)
      for (Int k = 0; k < in_w.count; ++k) {
        const float value = convert<float>(from[(in_d.first + i * in_d.step) * s.d.x_stride +
                                                (in_h.first + j * in_h.step) * s.h.x_stride +
                                                (in_w.first + k * in_w.step) * s.w.x_stride]);
        result = Mean ? result + value : max_of(result, value);
      }
  if (Mean) {
    Int count = in_d.count * in_h.count * in_w.count;
    if (!Adaptive && s.counts_padding)
      count = padded_count(s.d, d) * padded_count(s.h, h) * padded_count(s.w, w);
    if (s.divisor != 0) count = s.divisor;
    result = result / static_cast<float>(count);
  }
  y[image * s.y_image + channel * s.y_channel + d * s.d.y_stride + h * s.h.y_stride + w * s.w.y_stride] =
      convert<T>(result);
}

}  // namespace tenon::gpu
