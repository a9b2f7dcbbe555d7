// Pooling: a thread computes some channels of one pixel of the result. Neighbours compute the next channels
// or, where the pixels lie side by side, the next pixels.
#pragma once
#include "kernels/gpu/loop_walks.gpu.h"

namespace tenon::gpu {

struct PoolAxis {
  Int in, out, kernel, stride, pad, pad_more, dilation, x_stride, y_stride;
};

/// The places of a window that lie inside the image: first, first + step, ...
struct Span {
  int first, count, step;
};

template <bool Adaptive>
GPU_INLINE Span window_of(const PoolAxis& a, Int out) {
  if (Adaptive) {
    const int first = int(out * a.in / a.out);
    return {first, int(((out + 1) * a.in + a.out - 1) / a.out) - first, 1};
  }
  const int step = int(a.dilation);
  int first = int(out * a.stride - a.pad);
  // How many steps reach so far, in 32 bits: divisions of more are most of a thread's time.
  const auto steps = [&](int reach) { return step == 1 ? reach : (reach + step - 1) / step; };
  const int skipped = first < 0 ? steps(-first) : 0;
  first += skipped * step;
  const int inside = first < int(a.in) ? steps(int(a.in) - first) : 0;
  const int left = int(a.kernel) - skipped;
  return {first, left < inside ? (left > 0 ? left : 0) : inside, step};
}

/// Places that count for the divisor where padding counts: PyTorch cuts them at the padded image.
GPU_INLINE Int padded_count(const PoolAxis& a, Int out) {
  const Int first = out * a.stride - a.pad, end = first + a.kernel, limit = a.in + a.pad + a.pad_more;
  return (end < limit ? end : limit) - first;
}

struct PoolShape {
  Int images, channels, x_image, x_channel, y_image, y_channel;
  Int counts_padding, divisor;  // of means; divisor 0: the window's size
  Int x_pieces, y_pieces;       // all strides are multiples of the channels that a thread computes
  PoolAxis d, h, w;
};

/// What one thread computes: `Channels` of a pixel, which lie side by side, or one (0) where pixels do. Index
/// counts the threads.
template <int Channels, class Index>
struct PoolPlace {
  static constexpr int channels = Channels > 0 ? Channels : 1;
  Int image, channel, d, h, w;
  int valid;  // channels

  GPU_INLINE PoolPlace(const PoolShape& s, Index index) {
    const auto take = [&](Int size) {
      const Index taken = index % Index(size);
      index /= Index(size);
      return Int(taken);
    };
    if constexpr (Channels > 0) channel = take((s.channels + channels - 1) / channels) * channels;
    w = take(s.w.out);
    h = take(s.h.out);
    d = take(s.d.out);
    if constexpr (Channels == 0) channel = take(s.channels);
    image = Int(index);
    valid = s.channels - channel < channels ? int(s.channels - channel) : channels;
  }
  GPU_INLINE Int of_x(const PoolShape& s) const { return image * s.x_image + channel * s.x_channel; }
  GPU_INLINE Int of_y(const PoolShape& s) const {
    return image * s.y_image + channel * s.y_channel + d * s.d.y_stride + h * s.h.y_stride + w * s.w.y_stride;
  }
};

/// Calls f(values of the channels, place in the image) for each pixel of a window.
template <class C, bool Adaptive, class Place, class T, class F>
GPU_INLINE void each_in_window(const T* x, const PoolShape& s, const Place& at, F&& f) {
  const Span in_d = window_of<Adaptive>(s.d, at.d), in_h = window_of<Adaptive>(s.h, at.h),
             in_w = window_of<Adaptive>(s.w, at.w);
  const T* from = x + at.of_x(s);
  const bool whole = at.valid == Place::channels && s.x_pieces != 0 && is_aligned<Place::channels>(x);
  for (int i = 0; i < in_d.count; ++i)
    for (int j = 0; j < in_h.count; ++j) {
      const int d = in_d.first + i * in_d.step, h = in_h.first + j * in_h.step;
      const T* pixel = from + d * s.d.x_stride + h * s.h.x_stride + in_w.first * s.w.x_stride;
      Int place = (Int(d) * s.h.in + h) * s.w.in + in_w.first;
#pragma unroll 4
      for (int k = 0; k < in_w.count; ++k) {
        T elements[Place::channels];
        read(pixel, whole, at.valid, elements);
        C values[Place::channels];
#pragma unroll
        for (int v = 0; v < Place::channels; ++v) values[v] = convert<C>(elements[v]);
        f(values, place);
        pixel += in_w.step * s.w.x_stride;
        place += in_w.step;
      }
    }
}

/// Elements of T are computed with as C.
template <class T, class C, bool Mean, bool Adaptive, int Channels, class Index>
GPU_INLINE void pool_elements(const T* x, T* y, const PoolShape& s, Index index) {
  using Place = PoolPlace<Channels, Index>;
  const Place at(s, index);
  if (at.image >= s.images) return;
  C result[Place::channels];
  for (C& r : result) r = Mean ? C(0) : lowest<C>();
  each_in_window<C, Adaptive>(x, s, at, [&](const C(&values)[Place::channels], Int) {
#pragma unroll
    for (int v = 0; v < Place::channels; ++v)
      result[v] = Mean ? result[v] + values[v] : max_of(result[v], values[v]);
  });
  if (Mean) {
    Int count = 0;
    if (!Adaptive && s.counts_padding)
      count = padded_count(s.d, at.d) * padded_count(s.h, at.h) * padded_count(s.w, at.w);
    else
      count = Int(window_of<Adaptive>(s.d, at.d).count) * window_of<Adaptive>(s.h, at.h).count *
              window_of<Adaptive>(s.w, at.w).count;
    if (s.divisor != 0) count = s.divisor;
    for (C& r : result) r = r / static_cast<C>(count);
  }
  T elements[Place::channels];
#pragma unroll
  for (int v = 0; v < Place::channels; ++v) elements[v] = convert<T>(result[v]);
  write(y + at.of_y(s), s.y_pieces != 0 && is_aligned<Place::channels>(y), at.valid, elements);
}

/// The largest element and its place in the image: of equal ones the first, of NaN the last. The places lie
/// as the values do.
template <class T, class C, bool Adaptive, int Channels, class Index>
GPU_INLINE void pool_largest(const T* x, T* y, Int* places, const PoolShape& s, Index index) {
  const PoolPlace<Channels, Index> at(s, index);
  if (at.image >= s.images) return;
  C largest = lowest<C>();
  Int found = -1;
  each_in_window<C, Adaptive>(x, s, at, [&](const C(&value)[1], Int place) {
    if (found >= 0 && !(value[0] > largest) && value[0] == value[0]) return;
    largest = value[0];
    found = place;
  });
  y[at.of_y(s)] = convert<T>(largest);
  places[at.of_y(s)] = found;
}

}  // namespace tenon::gpu
