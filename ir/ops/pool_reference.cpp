// References of the poolings: loops over outputs and windows.
#include <cmath>
#include <limits>

#include "ir/ops/geometry.h"
#include "ir/ops/pool.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

// The largest value met so far and its place; the last NaN wins, as in PyTorch.
template <class T>
struct Largest {
  T value = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                 : std::numeric_limits<T>::min();
  std::int64_t place = -1;

  void meet(T v, std::int64_t at) {
    bool wins = place < 0 || v > value;
    if constexpr (std::is_floating_point_v<T>) wins = wins || std::isnan(v);
    if (!wins) return;
    value = v;
    place = at;
  }
};

// Calls f(plane, place of the output) for each element of the output; a plane is the spatial part of one
// channel.
template <class T, class F>
void each_output(const Tensor& x, const Spatial& in, const Spatial& out, F&& f) {
  const std::int64_t planes = x.shape()[0] * x.shape()[1];
  for (std::int64_t p = 0; p < planes; ++p) {
    const T* plane = x.data<T>() + p * product(in);
    for_each_place(out, [&](const Spatial& at) { f(plane, at); });
  }
}

void max_pool(const Tensor& input, const Geometry& g, Tensor& values, Tensor* places) {
  const Tensor x = widened(input);
  Tensor wide = Tensor::empty(x.dtype(), values.shape());
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    std::int64_t i = 0;
    each_output<T>(x, g.in, g.out, [&](const T* plane, const Spatial& at) {
      Largest<T> largest;
      for_each_place(g.kernel, [&](const Spatial& tap) {
        Spatial met;
        for (std::size_t d = 0; d < 3; ++d)
          met[d] = at[d] * g.stride[d] - g.begin[d] + tap[d] * g.dilation[d];
        const std::int64_t place = linear_place(met, g.in);
        if (place >= 0) largest.meet(plane[place], place);
      });
      if (places) places->mutable_data<std::int64_t>()[i] = largest.place;
      wide.mutable_data<T>()[i++] = largest.value;
    });
  });
  values.copy_from(wide);
}

// The window of an adaptive pooling: first place and sizes.
struct Span3 {
  Spatial first, size;
};
Span3 adaptive_window(const Spatial& at, const Spatial& in, const Spatial& out) {
  Span3 w;
  for (std::size_t d = 0; d < 3; ++d) {
    w.first[d] = at[d] * in[d] / out[d];
    w.size[d] = ((at[d] + 1) * in[d] + out[d] - 1) / out[d] - w.first[d];
  }
  return w;
}

Geometry adaptive_geometry(const Tensor& x, const Tensor& out) {
  return Geometry(x.shape(), out.shape(), Axes(x.rank() - 2, 1), {1}, {0}, {1});
}

template <class F>
void each_in_window(const Span3& w, const Spatial& in, F&& f) {
  for_each_place(w.size, [&](const Spatial& tap) {
    f(linear_place({w.first[0] + tap[0], w.first[1] + tap[1], w.first[2] + tap[2]}, in));
  });
}

void adaptive_max_pool(const Tensor& input, Tensor& values, Tensor* places) {
  const Tensor x = widened(input);
  const Geometry g = adaptive_geometry(x, values);
  Tensor wide = Tensor::empty(x.dtype(), values.shape());
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    std::int64_t i = 0;
    each_output<T>(x, g.in, g.out, [&](const T* plane, const Spatial& at) {
      Largest<T> largest;
      each_in_window(adaptive_window(at, g.in, g.out), g.in,
                     [&](std::int64_t place) { largest.meet(plane[place], place); });
      if (places) places->mutable_data<std::int64_t>()[i] = largest.place;
      wide.mutable_data<T>()[i++] = largest.value;
    });
  });
  values.copy_from(wide);
}

}  // namespace

void MaxPool::reference(InSpan in, OutSpan out) const {
  const Axes kernels = spatial("kernel", kernel, in[0].rank() - 2);
  max_pool(in[0], Geometry(in[0].shape(), out[0].shape(), kernels, stride, pad, dilation), out[0], nullptr);
}

void MaxPoolIndices::reference(InSpan in, OutSpan out) const {
  const Axes kernels = spatial("kernel", kernel, in[0].rank() - 2);
  max_pool(in[0], Geometry(in[0].shape(), out[0].shape(), kernels, stride, pad, dilation), out[0], &out[1]);
}

void AvgPool::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]);
  const Axes kernels = spatial("kernel", kernel, x.rank() - 2);
  const Geometry g(x.shape(), out[0].shape(), kernels, stride, pad, {1});
  Tensor wide = Tensor::empty(DType::f64, out[0].shape());
  double* y = wide.mutable_data<double>();
  each_output<double>(x, g.in, g.out, [&](const double* plane, const Spatial& at) {
    Span3 inside;
    std::int64_t padded = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      const std::int64_t start = at[d] * g.stride[d] - g.begin[d];
      padded *= std::min(start + g.kernel[d], g.in[d] + g.end[d]) - start;
      inside.first[d] = std::max<std::int64_t>(start, 0);
      inside.size[d] = std::min(start + g.kernel[d], g.in[d]) - inside.first[d];
    }
    double sum = 0;
    each_in_window(inside, g.in, [&](std::int64_t place) { sum += plane[place]; });
    const std::int64_t own_count = count_include_pad ? padded : product(inside.size);
    *y++ = sum / static_cast<double>(divisor.value_or(own_count));
  });
  out[0].copy_from(wide);
}

void AdaptiveAvgPool::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]);
  const Geometry g = adaptive_geometry(x, out[0]);
  Tensor wide = Tensor::empty(DType::f64, out[0].shape());
  double* y = wide.mutable_data<double>();
  each_output<double>(x, g.in, g.out, [&](const double* plane, const Spatial& at) {
    const Span3 window = adaptive_window(at, g.in, g.out);
    double sum = 0;
    each_in_window(window, g.in, [&](std::int64_t place) { sum += plane[place]; });
    *y++ = sum / static_cast<double>(product(window.size));
  });
  out[0].copy_from(wide);
}

void AdaptiveMaxPool::reference(InSpan in, OutSpan out) const { adaptive_max_pool(in[0], out[0], nullptr); }
void AdaptiveMaxPoolIndices::reference(InSpan in, OutSpan out) const {
  adaptive_max_pool(in[0], out[0], &out[1]);
}

}  // namespace tenon
