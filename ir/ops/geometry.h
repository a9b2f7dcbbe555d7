// The sizes of a convolution or pooling on known shapes, always in three spatial dims.
#pragma once
#include <algorithm>
#include <array>

#include "ir/ops/rules.h"

namespace tenon {

using Spatial = std::array<std::int64_t, 3>;

inline std::int64_t product(const Spatial& s) { return s[0] * s[1] * s[2]; }

/// Missing leading dims have size 1 and a window of 1.
struct Geometry {
  Spatial in, out, kernel;
  Spatial stride, begin, end, dilation;

  /// `in` and `out` end with the spatial sizes, `kernel` holds them alone.
  Geometry(const Index& in_shape, const Index& out_shape, const Axes& kernels, const Axes& strides,
           const Axes& pad, const Axes& dilations)
      : in(last(in_shape, kernels.size(), 1)),
        out(last(out_shape, kernels.size(), 1)),
        kernel(last(kernels, kernels.size(), 1)),
        stride(last(tenon::spatial("stride", strides, kernels.size()), kernels.size(), 1)),
        begin(last(spatial_pads(pad, kernels.size()).begin, kernels.size(), 0)),
        end(last(spatial_pads(pad, kernels.size()).end, kernels.size(), 0)),
        dilation(last(tenon::spatial("dilation", dilations, kernels.size()), kernels.size(), 1)) {}

 private:
  static Spatial last(const Axes& values, std::size_t dims, std::int64_t missing) {
    Spatial s = {missing, missing, missing};
    std::copy_n(values.end() - static_cast<std::ptrdiff_t>(dims), dims,
                s.end() - static_cast<std::ptrdiff_t>(dims));
    return s;
  }
};

/// Calls f({i, j, k}) in row-major order.
template <class F>
void for_each_place(const Spatial& sizes, F&& f) {
  Spatial at;
  for (at[0] = 0; at[0] < sizes[0]; ++at[0])
    for (at[1] = 0; at[1] < sizes[1]; ++at[1])
      for (at[2] = 0; at[2] < sizes[2]; ++at[2]) f(static_cast<const Spatial&>(at));
}

/// Position of a place in a row-major array of these sizes, or -1 outside.
inline std::int64_t linear_place(const Spatial& at, const Spatial& sizes) {
  for (std::size_t i = 0; i < 3; ++i)
    if (at[i] < 0 || at[i] >= sizes[i]) return -1;
  return (at[0] * sizes[1] + at[1]) * sizes[2] + at[2];
}

}  // namespace tenon
