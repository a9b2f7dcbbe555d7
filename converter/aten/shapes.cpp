#include "converter/aten/shapes.h"

#include <limits>

#include "base/error.h"
#include "ir/axis.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

bool known_negative(const Dim& d) { return d.range().max.value_or(0) < 0; }
bool known_not_negative(const Dim& d) { return d.range().min.value_or(-1) >= 0; }

/// A bound counted from the end when negative, moved into [0, size].
Dim resolved_bound(Builder& build, const Dim& bound, const Dim& size) {
  if (bound.is_known() && bound.value() == std::numeric_limits<std::int64_t>::max()) return size;
  if (bound == size) return size;
  Dim b = bound;
  if (known_negative(bound))
    b = bound + size;
  else if (!known_not_negative(bound)) {
    throw unsupported("a slice bound ({}) that may be negative or not", bound.str())
        .hint("give the input size it depends on a number instead of a symbol");
  }
  if (build.known_less(b, Dim(0)).value_or(true)) b = max(b, Dim(0));
  return build.guarded_min(b, size);
}

}  // namespace

Shape resolved_shape(std::vector<Dim> sizes, const Dim& count) {
  Dim rest(1);
  std::size_t unknown = sizes.size();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == Dim(-1)) {
      if (unknown != sizes.size()) throw error("a shape with two sizes of -1");
      unknown = i;
    } else {
      rest = rest * sizes[i];
    }
  }
  if (unknown == sizes.size()) return sizes;
  if (rest == Dim(0)) throw error("a shape with -1 and 0 leaves the size open");
  const Dim size = floor_div(count, rest);
  if (size * rest != count && known_equal(size * rest, count) == false)
    throw error("a tensor of {} elements does not divide into rows of {}", count.str(), rest.str());
  sizes[unknown] = size;
  return sizes;
}

Bounds slice_bounds(Builder& build, const AbstractValue* start, const AbstractValue* end, const Dim& size) {
  const auto given = [](const AbstractValue* d) { return d && !d->is_none(); };
  const auto dim = [](const AbstractValue* d) {
    if (const auto* known = d->get<Dim>()) return *known;
    throw unsupported("a slice bound that depends on the data of a tensor");
  };
  Bounds b{Dim(0), size};
  if (given(start)) b.start = resolved_bound(build, dim(start), size);
  if (given(end)) b.end = resolved_bound(build, dim(end), size);
  if (build.known_less(b.end, b.start).value_or(true)) b.end = max(b.start, b.end);
  return b;
}

std::vector<Ref> true_places(Builder& build, const Ref& mask) {
  const Ref places = build.sized(NonZero{}, {mask})[0];
  std::vector<Ref> columns;
  for (std::size_t i = 0; i < mask.rank(); ++i) {
    const auto axis = static_cast<std::int64_t>(i);
    columns.push_back(reshape(slice(places, 1, axis, axis + 1), {places.shape()[0]}));
  }
  return columns;
}

AbstractValue list_of_places(Builder& build, const Ref& mask) {
  std::vector<AbstractValue> columns;
  for (const Ref& places : true_places(build, mask.rank() == 0 ? reshape(mask, {Dim(1)}) : mask))
    columns.emplace_back(build.tensor(places));
  return list_of(std::move(columns));
}

TensorPtr sliced_unknown(Builder& build, const TensorPtr& x, std::int64_t axis, const Ref& start,
                         const Ref& end, std::int64_t step) {
  const Ref size = build.size(x->shape()[static_cast<std::size_t>(axis)]);
  const Ref zero = build.literal(std::int64_t{0}, DType::i64);
  const auto bound = [&](const Ref& given, const Ref& open) {
    if (!given) return open;
    const Ref from_start = where(given < zero, given + size, given);
    return minimum(maximum(from_start, zero), size);
  };
  const Ref first = bound(start, zero), last = maximum(bound(end, size), first);
  const Ref length = step == 1 ? last - first
                               : apply(FloorDiv{}, {last - first + static_cast<double>(step - 1),
                                                    build.literal(step, DType::i64)});
  const Ref steps = build.sized(CountUp{}, {length})[0];
  const Ref places = (step == 1 ? steps : steps * static_cast<double>(step)) + first;
  const TensorPtr y = build.view(x, IndexSelect{.axis = axis}, places);
  if (x->layout) {
    y->layout = Layout{x->layout->strides, std::nullopt};
    Dim& stride = y->layout->strides[static_cast<std::size_t>(axis)];
    stride = stride * Dim(step);
  }
  return y;
}

Shape expanded_shape(std::vector<Dim> sizes, const Shape& from) {
  if (sizes.size() < from.size()) throw error("expand to {} axes from {}", sizes.size(), from.size());
  const std::size_t added = sizes.size() - from.size();
  for (std::size_t i = added; i < sizes.size(); ++i)
    if (sizes[i] == Dim(-1)) sizes[i] = from[i - added];
  return sizes;
}

TensorPtr select(Builder& build, const TensorPtr& x, std::int64_t axis, const Dim& index) {
  const Dim& size = x->shape()[static_cast<std::size_t>(axis)];
  Dim start = index;
  if (known_negative(index))
    start = index + size;
  else if (!known_not_negative(index))
    throw unsupported("an index ({}) that may be negative or not", index.str());
  if (known_less(start, Dim(0)) == true || known_less(start, size) == false)
    throw error("index {} is out of range for an axis of size {}", index.str(), size.str());
  Shape shape = without_axis(x->shape(), axis);
  return reshaped(build, sliced(build, x, axis, start, start + 1), shape);
}

TensorPtr select_unknown(Builder& build, const TensorPtr& x, std::int64_t axis, const Ref& index) {
  const Ref place = cast(DType::i64, index);
  const Ref from_end = place + build.size(x->shape()[static_cast<std::size_t>(axis)]);
  return build.view(x, IndexSelect{.axis = axis}, where(place < place.literal(0), from_end, place));
}

TensorPtr reshaped(Builder& build, const TensorPtr& x, Shape shape) {
  return build.view(x, Reshape{.shape = std::move(shape)});
}

TensorPtr sliced(Builder& build, const TensorPtr& x, std::int64_t axis, Dim start, Dim end,
                 std::int64_t step) {
  return build.view(x, Slice{.axis = axis, .start = std::move(start), .end = std::move(end), .step = step});
}

TensorPtr permuted(Builder& build, const TensorPtr& x, std::vector<std::int64_t> axes) {
  bool moves = false;
  for (std::size_t i = 0; i < axes.size(); ++i) moves |= axes[i] != static_cast<std::int64_t>(i);
  if (!moves) return reshaped(build, x, x->shape());
  return build.view(x, Permute{.axes = std::move(axes)});
}

}  // namespace tenon::converter
