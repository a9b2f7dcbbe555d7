// Resizing that averages over all that a pixel covers: products with a matrix for each axis, most of whose
// numbers are zero, or the taps that are left.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ir/ops/functions.h"
#include "ir/ops/interpolate_taps.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

// The formulas are those of numbers and of values alike.
double like(double, double number) { return number; }
Ref like(const Ref& x, double number) { return x.literal(number); }
bool equal(double a, double b) { return a == b; }
double where(bool condition, double a, double b) { return condition ? a : b; }
double maximum(double a, double b) { return std::max(a, b); }
double minimum(double a, double b) { return std::min(a, b); }
using std::abs, std::sin, std::trunc;

template <class X>
X triangle(const X& d) {
  return maximum(1.0 - d, like(d, 0));
}
/// Keys' cubic with a = -0.5.
template <class X>
X keys(const X& d) {
  constexpr double a = -0.5;
  const X near = ((d * (a + 2) - (a + 3)) * d * d) + 1.0;
  const X far = ((d * a - 5 * a) * d + 8 * a) * d - 4 * a;
  return where(d < like(d, 1), near, where(d < like(d, 2), far, like(d, 0)));
}
template <class X>
X sinc(const X& x) {
  return where(equal(x, like(x, 0)), like(x, 1), sin(x) / x);
}
template <class X>
X lanczos(const X& d) {
  const X x = d * std::numbers::pi;
  return where(d < like(d, 3), sinc(x) * sinc(x / 3.0), like(d, 0));
}

/// One spatial axis. Distances are counted in pixels of the smaller image.
template <class X>
struct Coverage {
  const InterpolateAntialiased& op;
  std::size_t axis;
  X in, out;

  double reach() const {
    switch (op.filter) {
      case AntialiasFilter::linear: return 1;
      case AntialiasFilter::cubic: return 2;
      default: return 3;
    }
  }
  X weight(const X& distance) const {
    switch (op.filter) {
      case AntialiasFilter::linear: return triangle(distance);
      case AntialiasFilter::cubic: return keys(distance);
      default: return lanczos(distance);
    }
  }
  X step() const {
    const double scale = op.scales.empty() ? 0 : op.scales[axis];
    const X one = like(in, 1);
    if (op.align_corners) return where(out > one, (in - 1.0) / maximum(out - 1.0, one), like(in, 0));
    // PyTorch copies an axis that keeps its size, whatever the scale that led to it.
    return scale > 0 ? where(equal(in, out), one, like(in, 1 / scale)) : in / out;
  }
  X spread() const { return maximum(step(), like(in, 1)); }
  X centre(const X& i) const { return (i + 0.5) * step(); }
  /// Pixels [first, end) are those that pixel i of the result covers.
  X first(const X& i) const { return maximum(trunc(centre(i) - spread() * reach() + 0.5), like(in, 0)); }
  X end(const X& i) const { return minimum(trunc(centre(i) + spread() * reach() + 0.5), in); }
  /// What pixel j of these weighs, before weights are divided by their sum.
  X weight_of(const X& i, const X& j) const { return weight(abs((j - centre(i) + 0.5) / spread())); }
};

Ref matrix_of(const InterpolateAntialiased& op, std::size_t axis, const Ref& x) {
  const Dim &in = x.shape()[axis + 2], &out = op.output[axis];
  const InsertionPoint& point = x.insertion_point();
  const Ref i = reshape(iota(out, point, DType::f64), {out, Dim(1)}), j = iota(in, point, DType::f64);
  const Coverage<Ref> along{op, axis, dim_value(in, i), dim_value(out, i)};
  const Ref covered = logical_and(j >= along.first(i), j < along.end(i));
  const Ref weights = where(covered, along.weight_of(i, j), 0);
  const Ref total = sum(weights, {1}, true);
  return cast(x.dtype(), where(equal(total, total.literal(0)), weights, weights / total));
}

}  // namespace

Type InterpolateAntialiased::infer(const Type& x) const {
  check_rank("the input", x, 4);
  check_float("the input", x);
  if (output.size() != 2) throw error("output has {} values for 2 spatial dims", output.size());
  if (!scales.empty() && scales.size() != 2)
    throw error("scales has {} values for 2 spatial dims", scales.size());
  return {x.dtype, {x.shape[0], x.shape[1], output[0], output[1]}};
}

Ref InterpolateAntialiased::decompose(Ref x) const {
  return matmul(matrix_of(*this, 0, x), matmul(x, transpose(matrix_of(*this, 1, x), 0, 1)));
}

std::vector<Taps> taps_along(const InterpolateAntialiased& op, std::size_t axis, std::int64_t in,
                             std::int64_t out) {
  const Coverage<double> along{op, axis, static_cast<double>(in), static_cast<double>(out)};
  std::vector<Taps> all;
  std::size_t most = 1;
  const bool is_same = in == out && along.step() == 1;  // neighbours weigh nothing
  for (std::int64_t i = 0; i < out; ++i) {
    if (is_same) {
      all.push_back({{i, 1}});
      continue;
    }
    const auto at = static_cast<double>(i);
    const auto first = static_cast<std::int64_t>(along.first(at));
    Taps taps;
    double total = 0;
    for (auto j = first; j < static_cast<std::int64_t>(along.end(at)); ++j) {
      taps.push_back({j, along.weight_of(at, static_cast<double>(j))});
      total += taps.back().weight;
    }
    for (Tap& tap : taps)
      if (total != 0) tap.weight /= total;
    if (taps.empty()) taps.push_back({0, 0});
    most = std::max(most, taps.size());
    all.push_back(std::move(taps));
  }
  // A tap that is missing takes half of another's weight: infinity times a weight of 0 would be no number.
  for (Taps& taps : all)
    while (taps.size() < most) {
      taps.back().weight /= 2;
      taps.push_back(taps.back());
    }
  return all;
}

}  // namespace tenon
