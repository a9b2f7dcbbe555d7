// Operators that move elements.
#include "ir/ops/shape.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "compose/matrix.h"
#include "compose/repeat.h"
#include "converter/aten/fold.h"
#include "converter/aten/shapes.h"
#include "converter/onnx/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"

namespace tenon::converter::onnx {

namespace {

std::vector<Dim> list(const Axes& values) { return {values.begin(), values.end()}; }

Operands reshape_to(Call& call) {
  const Ref x = call.tensor(0);
  std::vector<Dim> sizes = call.has("shape") ? list(call.integers("shape", {})) : call.sizes(1);
  if (call.integer("allowzero", 0) == 0)
    for (std::size_t i = 0; i < sizes.size(); ++i)
      if (sizes[i] == Dim(0)) {
        if (i >= x.rank()) throw error("its shape keeps size {} of a tensor of rank {}", i, x.rank());
        sizes[i] = x.shape()[i];
      }
  return {reshape(x, resolved_shape(std::move(sizes), numel(x.shape())))};
}

Operands transpose_axes(Call& call) {
  const Ref x = call.tensor(0);
  Axes axes(x.rank());
  std::iota(axes.rbegin(), axes.rend(), 0);
  axes = call.integers("perm", axes);
  for (auto& axis : axes) axis = normalize_axis(axis, x.rank());  // PyTorch writes negative ones at times
  return {permute(x, axes)};
}

Operands flatten(Call& call) {
  const Ref x = call.tensor(0);
  std::int64_t axis = call.integer("axis", 1);
  if (axis < 0) axis += static_cast<std::int64_t>(x.rank());
  if (axis < 0 || axis > static_cast<std::int64_t>(x.rank()))
    throw error("its axis {} is outside of a tensor of rank {}", axis, x.rank());
  const auto middle = x.shape().begin() + axis;
  return {reshape(x, {numel(Shape(x.shape().begin(), middle)), numel(Shape(middle, x.shape().end()))})};
}

bool names(const Axes& axes, std::size_t i) {
  return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
}

/// Whether it drops an axis of a size, when it names none. A size that is an input's is assumed to be another
/// than 1.
bool is_dropped(Call& call, const Dim& size) {
  if (size == Dim(1)) return true;
  if (call.build.is_never_one(size)) return false;
  if (!call.build.assume_never_one(size))
    return call.build.is_one(size, "write the model with the axes that it drops");
  call.values.note(
      fmt::format("{} is at least 2: Squeeze names no axes, and drops those of size 1", size.str()));
  return false;
}

Operands squeeze(Call& call) {
  const Ref x = call.tensor(0);
  const auto axes = call.axes(1, x.rank());
  Shape shape;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const Dim& size = x.shape()[i];
    if (axes && names(*axes, i) && size != Dim(1))
      throw error("it drops axis {}, whose size is {}", i, size.str());
    if (axes ? !names(*axes, i) : !is_dropped(call, size)) shape.push_back(size);
  }
  return {reshape(x, shape)};
}

Operands unsqueeze(Call& call) {
  const Ref x = call.tensor(0);
  const std::size_t given = call.has("axes") ? call.integers("axes", {}).size() : call.integers(1).size();
  const Axes axes = *call.axes(1, x.rank() + given);
  Shape shape;
  auto next = x.shape().begin();
  for (std::size_t i = 0; i < x.rank() + given; ++i) {
    if (!names(axes, i) && next == x.shape().end()) throw error("its axes name one twice");
    shape.push_back(names(axes, i) ? Dim(1) : *next++);
  }
  return {reshape(x, shape)};
}

Operands expand_to(Call& call) {
  const Ref x = call.tensor(0);
  return {expand(x, broadcast(x.shape(), call.sizes(1)))};
}

/// One axis of a Slice with a negative step.
Ref slice_back(const Ref& x, std::int64_t axis, const Dim& start, const Dim& end, std::int64_t step) {
  const Dim& size = x.shape()[static_cast<std::size_t>(axis)];
  if (!start.is_known() || !end.is_known()) throw unsupported("a slice backwards between unknown places");
  if (!size.is_known()) {
    const bool whole =
        step == -1 && (start == Dim(-1) || start.value() >= (1LL << 31) - 1) && end.value() < -(1LL << 30);
    if (whole) return flip(x, {axis});
    throw unsupported("a slice backwards along an axis of unknown size ({})", size.str());
  }
  const std::int64_t n = size.value();
  const auto place = [&](std::int64_t v) {
    return std::clamp<std::int64_t>(v < 0 ? std::max(v, -n - 1) + n : v, -1, n - 1);
  };
  const std::int64_t from = place(start.value()), to = std::min(place(end.value()), from);
  return slice(x, axis, Dim(from), Dim(to), step);
}

/// Of bounds that the model computes, the i-th; empty when they are known.
Ref computed_bound(Call& call, std::size_t operand, std::size_t i) {
  if (call.values.sizes(call.operand(operand), Values::Effort::fix)) return {};
  const Ref all = cast(DType::i64, call.tensor(operand));
  if (all.value()->kind() == Value::Kind::parameter) return {};
  const auto at = static_cast<std::int64_t>(i);
  return reshape(slice(reshape(all, {numel(all.shape())}), 0, at, at + 1), {});
}

void check_lengths(std::size_t starts, std::size_t ends, const Axes& axes, const Axes& steps) {
  if (ends != starts || axes.size() != starts || steps.size() != starts)
    throw error("its starts, ends, axes and steps have {}, {}, {} and {} elements", starts, ends, axes.size(),
                steps.size());
}

/// A slice whose bounds the model computes.
Operands computed_slice(Call& call) {
  Ref x = call.tensor(0);
  const Dim count = numel(call.tensor(1).shape());
  if (!count.is_known()) throw unsupported("an unknown number of bounds ({})", count.str());
  Axes axes(static_cast<std::size_t>(count.value()));
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = call.integers(3);
  const Axes steps = call.has(4) ? call.integers(4) : Axes(axes.size(), 1);
  const Dim ends = numel(call.tensor(2).shape());
  if (!ends.is_known()) throw unsupported("an unknown number of bounds ({})", ends.str());
  check_lengths(static_cast<std::size_t>(count.value()), static_cast<std::size_t>(ends.value()), axes, steps);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] <= 0) throw unsupported("a slice with computed bounds and a step of {}", steps[i]);
    const auto bound = [&](std::size_t operand) {
      const Ref computed = computed_bound(call, operand, i);
      return computed ? computed : call.build.size(call.sizes(operand)[i]);
    };
    const TensorPtr part = sliced_unknown(call.build, call.build.tensor(x), normalize_axis(axes[i], x.rank()),
                                          bound(1), bound(2), steps[i]);
    x = call.build.read(part);
  }
  return {x};
}

Operands slice_axes(Call& call) {
  Ref x = call.tensor(0);
  const bool as_operands = call.version >= 10 || call.count() > 1;
  if (as_operands && (computed_bound(call, 1, 0) || computed_bound(call, 2, 0))) return computed_slice(call);
  const std::vector<Dim> starts = as_operands ? call.sizes(1) : list(call.integers("starts", {}));
  const std::vector<Dim> ends = as_operands ? call.sizes(2) : list(call.integers("ends", {}));
  Axes axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (as_operands ? call.has(3) : call.has("axes"))
    axes = as_operands ? call.integers(3) : call.integers("axes", {});
  const Axes steps = call.has(4) ? call.integers(4) : Axes(starts.size(), 1);
  check_lengths(starts.size(), ends.size(), axes, steps);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = normalize_axis(axes[i], x.rank());
    if (steps[i] == 0) throw error("its step along axis {} is 0", axis);
    if (steps[i] < 0) {
      x = slice_back(x, axis, starts[i], ends[i], steps[i]);
      continue;
    }
    // Exporters write "to the end" as any large number.
    const bool open = ends[i].is_known() && ends[i].value() >= std::numeric_limits<std::int32_t>::max();
    const AbstractValue start(starts[i]), end(open ? Dim(std::numeric_limits<std::int64_t>::max()) : ends[i]);
    const Bounds bounds = slice_bounds(call.build, &start, &end, x.shape()[static_cast<std::size_t>(axis)]);
    x = slice(x, axis, bounds.start, bounds.end, steps[i]);
  }
  return {x};
}

Operands split(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), 0);
  const Dim& size = x.shape()[static_cast<std::size_t>(axis)];
  const auto count = static_cast<std::int64_t>(call.outputs());
  std::vector<Dim> sizes;
  if (call.has("split")) {
    sizes = list(call.integers("split", {}));
  } else if (call.has(1)) {
    sizes = call.sizes(1);
  } else {
    const Dim part = ceil_div(size, Dim(count));
    for (std::int64_t i = 0; i + 1 < count; ++i) sizes.push_back(part);
    sizes.push_back(size - part * Dim(count - 1));
  }
  if (static_cast<std::int64_t>(sizes.size()) != count)
    throw error("it splits into {} parts and has {} outputs", sizes.size(), count);
  Operands out;
  Dim start(0);
  for (const Dim& part : sizes) {
    out.emplace_back(slice(x, axis, start, start + part));
    start = start + part;
  }
  if (!(start == size))
    throw error("its parts have {} elements in all, the axis {}", start.str(), size.str());
  return out;
}

PadMode pad_mode(const std::string& name) {
  if (name == "constant") return PadMode::constant;
  if (name == "reflect") return PadMode::reflect;
  if (name == "edge") return PadMode::replicate;
  if (name == "wrap") return PadMode::circular;
  throw unsupported("its mode is '{}'", name);
}

Operands pad_axes(Call& call) {
  const Ref x = call.tensor(0);
  const char* name = call.version < 2 && call.full_name() == "Pad" ? "paddings" : "pads";
  const std::vector<Dim> given = call.has(name) ? list(call.integers(name, {})) : call.sizes(1);
  Axes axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = call.integers(3);
  if (given.size() != axes.size() * 2) throw error("it has {} pads for {} axes", given.size(), axes.size());
  Pad op{.pads = Shape(x.rank() * 2, Dim(0)), .mode = pad_mode(call.text("mode", "constant"))};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(normalize_axis(axes[i], x.rank()));
    if (op.mode != PadMode::constant && x.shape()[axis] == Dim(0))
      throw error("it pads an axis without elements");
    op.pads[axis] = given[i];
    op.pads[x.rank() + axis] = given[axes.size() + i];
  }
  if (op.mode == PadMode::constant) op.value = call.has(2) ? call.number(2) : call.number("value", 0);
  return {apply(op, {x})};
}

Operands tile(Call& call) { return {repeated(call.tensor(0), call.sizes(1))}; }

Operands triangle(Call& call) {
  const bool lower = call.integer("upper", 1) == 0;
  return {kept_triangle(call.tensor(0), lower, Dim(call.has(1) ? call.integer(1) : 0))};
}

/// An axis of size 1 at the place that its operand says.
Operands expand_dims(Call& call) {
  const Ref x = call.tensor(0);
  return {reshape(x, with_axis(x.shape(), normalize_axis(call.integer(1), x.rank() + 1)))};
}

Operands depth_to_space(Call& call) {
  const Ref x = call.tensor(0);
  check_rank("input", x.type(), 4);
  const Dim block(call.integer("blocksize"));
  const auto s = x.shape();
  if (block == Dim(0)) throw error("its blocksize is 0");
  const Dim depth = floor_div(s[1], block * block);
  const bool depth_first = call.text("mode", "DCR") == "CRD";
  const Ref parts = depth_first ? reshape(x, {s[0], depth, block, block, s[2], s[3]})
                                : reshape(x, {s[0], block, block, depth, s[2], s[3]});
  const Ref moved = permute(parts, depth_first ? Axes{0, 1, 4, 2, 5, 3} : Axes{0, 3, 4, 1, 5, 2});
  return {reshape(moved, {s[0], depth, s[2] * block, s[3] * block})};
}

Operands space_to_depth(Call& call) {
  const Ref x = call.tensor(0);
  check_rank("input", x.type(), 4);
  const Dim block(call.integer("blocksize"));
  if (block == Dim(0)) throw error("its blocksize is 0");
  const auto s = x.shape();
  const Dim high = floor_div(s[2], block), wide = floor_div(s[3], block);
  const Ref parts = reshape(x, {s[0], s[1], high, block, wide, block});
  const bool depth_first = call.text("mode", "DCR") == "CRD";
  const Ref moved = permute(parts, depth_first ? Axes{0, 1, 3, 5, 2, 4} : Axes{0, 3, 5, 1, 2, 4});
  return {reshape(moved, {s[0], s[1] * block * block, high, wide})};
}

Operands center_crop_pad(Call& call) {
  Ref x = call.tensor(0);
  const Axes wanted = call.integers(1);
  Axes axes(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  axes = call.integers("axes", axes);
  if (wanted.size() != axes.size()) throw error("it has {} sizes for {} axes", wanted.size(), axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::int64_t axis = normalize_axis(axes[i], x.rank());
    const Dim& size = x.shape()[static_cast<std::size_t>(axis)];
    if (!size.is_known()) throw unsupported("an axis of unknown size ({})", size.str());
    const std::int64_t more = wanted[i] - size.value();
    if (more < 0) {
      const std::int64_t start = -more / 2;
      x = slice(x, axis, Dim(start), Dim(start + wanted[i]));
    } else if (more > 0) {
      Shape pads(x.rank() * 2, Dim(0));
      pads[static_cast<std::size_t>(axis)] = Dim(more / 2);
      pads[x.rank() + static_cast<std::size_t>(axis)] = Dim(more - more / 2);
      x = pad(x, pads);
    }
  }
  return {x};
}

/// The first elements of each sequence in the opposite order.
Operands reverse_sequence(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t batch = call.axis(x.rank(), 1, "batch_axis"), time = call.axis(x.rank(), 0, "time_axis");
  if (batch == time) throw error("its batch axis is its time axis");
  const auto along = [&](const Ref& r, std::int64_t axis) {
    Shape shape(x.rank(), Dim(1));
    shape[static_cast<std::size_t>(axis)] = x.shape()[static_cast<std::size_t>(axis)];
    return reshape(r, shape);
  };
  const Ref step = along(iota(x.shape()[static_cast<std::size_t>(time)], call.build.insertion_point()), time);
  const Ref length = along(cast(DType::i64, call.tensor(1)), batch);
  const Ref places = where(step < length, length - 1.0 - step, step);
  return {gather(x, time, expand(places, x.shape()))};
}

Operands col_to_im(Call& call) {
  const std::vector<Dim> size = call.sizes(1);
  const std::size_t axes = size.size();
  const Axes pads = call.integers("pads", Axes(axes * 2, 0));
  if (pads.size() != axes * 2) throw error("{} pads for {} spatial axes", pads.size(), axes);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(axes);
  return {columns_folded(call.build, call.tensor(0),
                         {.size = size,
                          .kernel = call.integers(2),
                          .dilation = call.integers("dilations", Axes(axes, 1)),
                          .stride = call.integers("strides", Axes(axes, 1)),
                          .before = {pads.begin(), middle},
                          .after = {middle, pads.end()}})};
}

}  // namespace

std::span<const OnnxEntry> shape_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"CenterCropPad", center_crop_pad},
      OnnxEntry{"Col2Im", col_to_im},
      OnnxEntry{"DepthToSpace", depth_to_space},
      OnnxEntry{"DynamicSlice", slice_axes},
      OnnxEntry{"Expand", expand_to},
      OnnxEntry{"Flatten", flatten},
      OnnxEntry{"Pad", pad_axes},
      OnnxEntry{"Reshape", reshape_to},
      OnnxEntry{"ReverseSequence", reverse_sequence},
      OnnxEntry{"Slice", slice_axes},
      OnnxEntry{"SpaceToDepth", space_to_depth},
      OnnxEntry{"Split", split},
      OnnxEntry{"Squeeze", squeeze},
      OnnxEntry{"Tile", tile},
      OnnxEntry{"Transpose", transpose_axes},
      OnnxEntry{"Trilu", triangle},
      OnnxEntry{"Unsqueeze", unsqueeze},
      OnnxEntry{"com.microsoft.ExpandDims", expand_dims},
      OnnxEntry{"com.microsoft.Pad", pad_axes},
      OnnxEntry{"com.microsoft.Trilu", triangle},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
