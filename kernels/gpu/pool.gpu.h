// Pooling: a thread computes one element of the result; neighbours compute neighbouring channels.
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

struct PoolAxis {
  Int in, out, kernel, stride, pad, pad_more, dilation, x_stride, y_stride;
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
  const Int first = out * a.stride - a.pad, end = first + a.kernel, limit = a.in + a.pad + a.pad_more;
  return (end < limit ? end : limit) - first;
}

struct PoolShape {
  Int images, channels, x_image, x_channel, y_image, y_channel;
  Int counts_padding, divisor;  // of means; divisor 0: the window's size
  PoolAxis d, h, w;
};

/// What one thread computes.
struct PoolPlace {
  Int image, channel, d, h, w;

  GPU_INLINE PoolPlace(const PoolShape& s, Int index) {
    channel = index % s.channels;
    index /= s.channels;
    w = index % s.w.out;
    index /= s.w.out;
    h = index % s.h.out;
    index /= s.h.out;
    d = index % s.d.out;
    image = index / s.d.out;
  }
  GPU_INLINE Int of_x(const PoolShape& s) const { return image * s.x_image + channel * s.x_channel; }
  GPU_INLINE Int of_y(const PoolShape& s) const {
    return image * s.y_image + channel * s.y_channel + d * s.d.y_stride + h * s.h.y_stride + w * s.w.y_stride;
  }
};

/// Calls f(value, place in the image) for each element of a window.
template <class C, bool Adaptive, class T, class F>
GPU_INLINE void each_in_window(const T* x, const PoolShape& s, const PoolPlace& at, F&& f) {
  const Span in_d = window_of<Adaptive>(s.d, at.d), in_h = window_of<Adaptive>(s.h, at.h),
             in_w = window_of<Adaptive>(s.w, at.w);
  const T* from = x + at.of_x(s);
  for (Int i = 0; i < in_d.count; ++i)
    for (Int j = 0; j < in_h.count; ++j)
      for (Int k = 0; k < in_w.count; ++k) {
        const Int d = in_d.first + i * in_d.step, h = in_h.first + j * in_h.step,
                  w = in_w.first + k * in_w.step;
        f(convert<C>(from[d * s.d.x_stride + h * s.h.x_stride + w * s.w.x_stride]),
          (d * s.h.in + h) * s.w.in + w);
      }
}

/// Elements of T are computed with as C.
template <class T, class C, bool Mean, bool Adaptive>
GPU_INLINE void pool_element(const T* x, T* y, const PoolShape& s, Int index) {
  const PoolPlace at(s, index);
  C result = Mean ? C(0) : lowest<C>();
  each_in_window<C, Adaptive>(x, s, at,
                              [&](C value, Int) { result = Mean ? result + value : max_of(result, value); });
  if (Mean) {
    Int count = 0;
    if (!Adaptive && s.counts_padding)
      count = padded_count(s.d, at.d) * padded_count(s.h, at.h) * padded_count(s.w, at.w);
    else
      count = window_of<Adaptive>(s.d, at.d).count * window_of<Adaptive>(s.h, at.h).count *
              window_of<Adaptive>(s.w, at.w).count;
    if (s.divisor != 0) count = s.divisor;
    result = result / static_cast<C>(count);
  }
  y[at.of_y(s)] = convert<T>(result);
}

/// The largest element and its place in the image: of equal ones the first, of NaN the last. The places lie
/// as the values do.
template <class T, class C, bool Adaptive>
GPU_INLINE void pool_largest(const T* x, T* y, Int* places, const PoolShape& s, Int index) {
  const PoolPlace at(s, index);
  C largest = lowest<C>();
  Int found = -1;
  each_in_window<C, Adaptive>(x, s, at, [&](C value, Int place) {
    if (found >= 0 && !(value > largest) && value == value) return;
    largest = value;
    found = place;
  });
  y[at.of_y(s)] = convert<T>(largest);
  places[at.of_y(s)] = found;
}

}  // namespace tenon::gpu
