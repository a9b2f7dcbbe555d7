// Type rules of the operators that move elements.
#include "ir/ops/shape.h"

#include <algorithm>
#include <numeric>

#include "ir/ops/functions.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

Dim checked_bound(const char* what, const Dim& bound, const Dim& size, std::int64_t step) {
  const Dim lowest = step > 0 ? 0 : -1;
  const Dim highest = step > 0 ? size : size - 1;
  if (known_less(bound, lowest).value_or(false) || known_less(highest, bound).value_or(false))
    throw error("{} is {}, it must lie in [{}, {}]", what, bound.str(), lowest.str(), highest.str());
  return bound;
}

}  // namespace

Type Reshape::infer(const Type& x) const {
  const Dim before = numel(x.shape), after = numel(shape);
  if (before != after)
    throw sizes_differ(fmt::format("{} has {} elements, the shape {} has {}: they", x.str(), before.str(),
                                   str(shape), after.str()),
                       before, after);
  return {x.dtype, shape};
}

Type Permute::infer(const Type& x) const {
  if (axes.size() != x.rank()) throw error("{} axes are listed for {}", axes.size(), x.str());
  check_axes(axes, x);
  Type out{x.dtype, {}};
  for (const std::int64_t axis : axes) out.shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  return out;
}

Type Slice::infer(const Type& x) const {
  check_axis(axis, x);
  if (step == 0) throw error("the step is 0");
  Type out = x;
  Dim& size = out.shape[static_cast<std::size_t>(axis)];
  const Dim first = checked_bound("start", start, size, step);
  const Dim last = checked_bound("end", end, size, step);
  const Dim distance = step > 0 ? last - first : first - last;
  const Dim count = ceil_div(distance, step > 0 ? step : -step);
  size = known_less(distance, 0) == false ? count : max(count, 0);
  return out;
}

Type Expand::infer(const Type& x) const {
  if (shape.size() < x.rank()) throw error("{} has more axes than the shape {}", x.str(), str(shape));
  const std::size_t added = shape.size() - x.rank();
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (x.shape[i] != 1 && x.shape[i] != shape[added + i])
      throw error("{} cannot expand to {}: axis {} is {}, not 1", x.str(), str(shape), i, x.shape[i].str());
  return {x.dtype, shape};
}

std::vector<Type> Concat::infer(TypeSpan x) const {
  check_axis(axis, x[0]);
  const auto at = static_cast<std::size_t>(axis);
  Type out = x[0];
  for (std::size_t i = 1; i < x.size(); ++i) {
    const std::string what = fmt::format("operand {}", i);
    check_same_dtype("operand 0", x[0], what, x[i]);
    check_rank(what, x[i], x[0].rank());
    for (std::size_t d = 0; d < out.rank(); ++d)
      if (d != at && x[i].shape[d] != x[0].shape[d])
        throw sizes_differ(fmt::format("{} is {}, operand 0 is {}: their sizes along axis {}", what,
                                       x[i].str(), x[0].str(), d),
                           x[i].shape[d], x[0].shape[d]);
    out.shape[at] = out.shape[at] + x[i].shape[at];
  }
  return {out};
}

Type Pad::infer(const Type& x) const {
  if (pads.size() != 2 * x.rank()) throw error("{} amounts are listed for {}", pads.size(), x.str());
  Type out = x;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const Dim& before = pads[i];
    const Dim& after = pads[x.rank() + i];
    const Dim& size = x.shape[i];
    out.shape[i] = size + before + after;
    if (known_less(out.shape[i], 0).value_or(false))
      throw error("axis {} of {} has no {} elements to crop", i, x.str(), (-(before + after)).str());
    if (mode == PadMode::constant || (before == 0 && after == 0)) continue;
    for (const Dim& amount : {before, after}) {
      const Dim most = mode == PadMode::reflect ? size - 1 : size;
      const bool too_much = mode != PadMode::replicate && known_less(most, amount).value_or(false);
      if (too_much || known_less(amount, 0).value_or(false))
        throw error("axis {} of {} cannot be padded by {} in this mode", i, x.str(), amount.str());
    }
  }
  return out;
}

Type Flip::infer(const Type& x) const {
  check_axes(axes, x);
  return x;
}

Ref transpose(const Ref& x, std::int64_t a, std::int64_t b) {
  Axes axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<std::size_t>(normalize_axis(a, x.rank()))],
            axes[static_cast<std::size_t>(normalize_axis(b, x.rank()))]);
  return permute(x, std::move(axes));
}

Ref reshape(const Ref& x, Shape shape) { return apply(Reshape{.shape = std::move(shape)}, {x}); }
Ref permute(const Ref& x, Axes axes) { return apply(Permute{.axes = std::move(axes)}, {x}); }
Ref expand(const Ref& x, Shape shape) { return apply(Expand{.shape = std::move(shape)}, {x}); }
Ref flip(const Ref& x, Axes axes) { return apply(Flip{.axes = std::move(axes)}, {x}); }
Ref slice(const Ref& x, std::int64_t axis, Dim start, Dim end, std::int64_t step) {
  return apply(Slice{.axis = axis, .start = std::move(start), .end = std::move(end), .step = step}, {x});
}
Ref concat(RefSpan parts, std::int64_t axis) { return tenon::apply(Concat{.axis = axis}, parts); }
Ref pad(const Ref& x, Shape pads, double value) {
  return apply(Pad{.pads = std::move(pads), .value = value}, {x});
}

std::vector<const OpInfo*> shape_ops() { return family(ShapeOps{}); }

}  // namespace tenon
