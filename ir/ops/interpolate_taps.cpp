#include "ir/ops/interpolate_taps.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/axis_maps.h"

namespace tenon {
namespace {

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

template <class R>
std::vector<Taps> all_taps(const Axis<R>& axis) {
  std::vector<Taps> list;
  for (std::int64_t i = 0; i < axis.out; ++i) list.push_back(axis.taps(i));
  return list;
}

}  // namespace

std::vector<Taps> taps_along(const Interpolate& op, DType data, std::size_t axis, std::int64_t in,
                             std::int64_t out) {
  const double factor = op.scales.empty() ? 0 : op.scales[axis];
  const AxisMap nearest = nearest_map(op, axis + 2, in, out);
  if (data == DType::f64) return all_taps(Axis<double>{op, in, out, factor, nearest});
  return all_taps(Axis<float>{op, in, out, factor, nearest});
}

}  // namespace tenon
