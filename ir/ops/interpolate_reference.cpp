// Each spatial axis gives every output place a few input places with weights; their products are summed.
#include <cmath>

#include "ir/ops/axis_maps.h"
#include "ir/ops/geometry.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/reference.h"

namespace tenon {
namespace {

struct Tap {
  std::int64_t place;
  double weight;
};
using Taps = std::vector<Tap>;

// R is the type PyTorch computes places and weights in: float unless the data are f64.
template <class R>
struct Axis {
  const Interpolate& op;
  std::int64_t in, out;
  double factor;           // the given scale factor, or 0
  const AxisMap& nearest;  // of the modes that take one place

  R scale() const {
    if (op.align_corners) return out > 1 ? static_cast<R>(in - 1) / static_cast<R>(out - 1) : R(0);
    return factor > 0 ? static_cast<R>(1.0 / factor) : static_cast<R>(in) / static_cast<R>(out);
  }

  R source(std::int64_t i, bool clip) const {
    if (op.align_corners) return scale() * static_cast<R>(i);
    const R at = scale() * (static_cast<R>(i) + R(0.5)) - R(0.5);
    return clip && at < 0 ? R(0) : at;
  }

  Taps linear(std::int64_t i) const {
    if (in == out) return {{i, 1}};
    const R at = source(i, true);
    const std::int64_t left = std::min(static_cast<std::int64_t>(at), in - 1);
    const R weight = std::clamp(at - static_cast<R>(left), R(0), R(1));
    return {{left, R(1) - weight}, {std::min(left + 1, in - 1), weight}};
  }

  // Keys' cubic convolution with a = -0.75.
  Taps cubic(std::int64_t i) const {
    const R at = source(i, false);
    const std::int64_t left = std::min(static_cast<std::int64_t>(std::floor(at)), in - 1);
    const R t = std::clamp(at - static_cast<R>(left), R(0), R(1));
    constexpr R a = R(-0.75);
    const auto near = [](R x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
    const auto far = [](R x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
    const R weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
    Taps taps;
    for (std::int64_t k = 0; k < 4; ++k)
      taps.push_back({std::clamp<std::int64_t>(left - 1 + k, 0, in - 1), weights[k]});
    return taps;
  }

  Taps taps(std::int64_t i) const {
    switch (op.mode) {
      case InterpolateMode::linear: return linear(i);
      case InterpolateMode::cubic: return cubic(i);
      default: return {{nearest[static_cast<std::size_t>(i)], 1}};
    }
  }
};

}  // namespace

void Interpolate::reference(InSpan in, OutSpan out) const {
  const Tensor x = widened(in[0]);
  const std::size_t dims = x.rank() - 2;
  const Geometry g(x.shape(), out[0].shape(), Axes(dims, 1), {1}, {0}, {1});
  std::array<std::vector<Taps>, 3> taps;
  for (std::size_t d = 0; d < 3; ++d) {
    const bool real_axis = d + dims >= 3;
    const double factor = real_axis && !scales.empty() ? scales[d + dims - 3] : 0;
    const AxisMap nearest = real_axis ? nearest_map(*this, d + dims - 1, g.in[d], g.out[d]) : AxisMap{};
    for (std::int64_t i = 0; i < g.out[d]; ++i)
      taps[d].push_back(!real_axis ? Taps{{0, 1}}
                        : in[0].dtype() == DType::f64
                            ? Axis<double>{*this, g.in[d], g.out[d], factor, nearest}.taps(i)
                            : Axis<float>{*this, g.in[d], g.out[d], factor, nearest}.taps(i));
  }
  Tensor wide = Tensor::empty(x.dtype(), out[0].shape());
  dispatch_wide(x.dtype(), [&]<class T>(dtype_tag<T>) {
    T* y = wide.mutable_data<T>();
    for (std::int64_t plane = 0; plane < x.shape()[0] * x.shape()[1]; ++plane) {
      const T* input = x.data<T>() + plane * product(g.in);
      for_each_place(g.out, [&](const Spatial& at) {
        T sum = 0;
        for (const Tap& a : taps[0][static_cast<std::size_t>(at[0])])
          for (const Tap& b : taps[1][static_cast<std::size_t>(at[1])])
            for (const Tap& c : taps[2][static_cast<std::size_t>(at[2])])
              sum += static_cast<T>(a.weight * b.weight * c.weight) *
                     input[linear_place({a.place, b.place, c.place}, g.in)];
        *y++ = sum;
      });
    }
  });
  out[0].copy_from(wide);
}

}  // namespace tenon
