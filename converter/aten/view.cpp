// Operators whose results share the memory of their operand.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/create.h"
#include "ir/ops/functions.h"
#include "ir/ops/index.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

std::vector<std::int64_t> identity_axes(std::size_t rank) {
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// The same bytes as elements of another size: the last axis grows or shrinks.
Ref with_elements_of(DType to, const Ref& x) {
  const std::size_t from_size = size_of(x.dtype()), to_size = size_of(to);
  Shape shape = x.shape();
  if (from_size > to_size) {
    shape.back() = shape.back() * static_cast<std::int64_t>(from_size / to_size);
    return reshape(bitcast(to, x), shape);
  }
  const Dim parts(static_cast<std::int64_t>(to_size / from_size));
  shape.back() = resolved_shape({Dim(-1), parts}, shape.back())[0];
  shape.push_back(parts);
  return bitcast(to, reshape(x, shape));
}

/// The same bytes as another dtype, which PyTorch gives as a view.
Results view_as_dtype(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const DType to = call.dtype("dtype").value_or(x->dtype());
  if (to == x->dtype()) return x;
  if (size_of(to) == size_of(x->dtype()))
    return call.build.maybe_view(x, bitcast(to, call.build.read(x)), x->layout);
  if (x->rank() == 0 || (x->layout && x->layout->strides.back() != Dim(1)))
    throw error("a view of {} as {}, whose elements have another size, takes a last axis of stride 1",
                x->type.str(), name(to))
        .hint("call .contiguous() first");
  return call.build.maybe_view(x, with_elements_of(to, call.build.read(x)), std::nullopt);
}

Results view(Call& call) {
  if (call.overload == "dtype") return view_as_dtype(call);
  const TensorPtr x = call.tensor_ptr("self");
  return reshaped(call.build, x, resolved_shape(call.sizes("size"), numel(x->shape())));
}

Results view_as(Call& call) {
  return reshaped(call.build, call.tensor_ptr("self"), call.tensor_ptr("other")->shape());
}

/// A view or a copy, as the strides ask for.
TensorPtr view_or_copy(Builder& build, const TensorPtr& x, const Shape& shape) {
  if (shape == x->shape()) return reshaped(build, x, shape);
  const std::optional<bool> is_view =
      x->layout ? reshaping(x->shape(), *x->layout, shape).is_view : std::nullopt;
  if (is_view == true) return reshaped(build, x, shape);
  const Ref value = tenon::reshape(build.read(x), shape);
  return is_view ? build.tensor(value) : build.maybe_view(x, value, std::nullopt);
}

Results reshape_op(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return view_or_copy(call.build, x, resolved_shape(call.sizes("shape"), numel(x->shape())));
}

Results reshape_as(Call& call) {
  return view_or_copy(call.build, call.tensor_ptr("self"), call.tensor_ptr("other")->shape());
}

Results ravel(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const Shape shape = {numel(x->shape())};
  const std::optional<bool> contiguous = x->contiguous();
  if (contiguous == true) return reshaped(call.build, x, shape);
  // x.contiguous().view(-1): a copy even where strides allow a view.
  const Ref value = tenon::reshape(call.build.read(x), shape);
  return contiguous ? call.build.tensor(value) : call.build.maybe_view(x, value);
}

Results flatten(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  if (x->rank() == 0) return reshaped(call.build, x, {Dim(1)});
  const std::size_t first = at(call.axis("start_dim", x->rank(), 0));
  const std::size_t last = at(call.axis("end_dim", x->rank(), -1));
  if (first > last) throw error("flatten from axis {} to axis {}", first, last);
  if (first == last) return x;
  Shape shape(x->shape().begin(), x->shape().begin() + static_cast<std::ptrdiff_t>(first));
  Dim joined(1);
  for (std::size_t i = first; i <= last; ++i) joined = joined * x->shape()[i];
  shape.push_back(joined);
  shape.insert(shape.end(), x->shape().begin() + static_cast<std::ptrdiff_t>(last) + 1, x->shape().end());
  return view_or_copy(call.build, x, shape);
}

Results unflatten(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank());
  const Shape parts = resolved_shape(call.sizes("sizes"), x->shape()[at(axis)]);
  Shape shape = without_axis(x->shape(), axis);
  shape.insert(shape.begin() + axis, parts.begin(), parts.end());
  return reshaped(call.build, x, shape);
}

Results squeeze(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const bool all = !call.has("dim");
  if (!all && call.integers("dim").empty()) return reshaped(call.build, x, x->shape());
  const auto axes = all ? identity_axes(x->rank()) : call.axes("dim", x->rank());
  Shape shape;
  for (std::size_t i = 0; i < x->rank(); ++i) {
    const Dim& size = x->shape()[i];
    const bool asked = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) != axes.end();
    if (!asked || !call.build.is_one(size, all ? "name the axis: squeeze(dim)" : "")) shape.push_back(size);
  }
  return reshaped(call.build, x, shape);
}

Results unsqueeze(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return reshaped(call.build, x, with_axis(x->shape(), call.axis("dim", x->rank() + 1)));
}

Results same(Call& call) {
  return call.build.view(call.tensor_ptr("self"), Reshape{.shape = call.tensor_ptr("self")->shape()});
}

/// What PyTorch hands through, as the same tensor.
Results itself(Call& call) { return call.tensor_ptr("self"); }

TensorPtr transposed(Builder& build, const TensorPtr& x, std::int64_t a, std::int64_t b) {
  auto axes = identity_axes(x->rank());
  if (!axes.empty()) std::swap(axes[at(a)], axes[at(b)]);
  return permuted(build, x, std::move(axes));
}

Results transpose_op(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::string_view first = call.find("dim0") ? "dim0" : "axis0";
  const std::string_view second = call.find("dim1") ? "dim1" : "axis1";
  if (x->rank() == 0) return call.ignore({first, second}), same(call);
  return transposed(call.build, x, call.axis(first, x->rank()), call.axis(second, x->rank()));
}

/// t() and T of a matrix; T of other ranks reverses the axes.
Results reversed_axes(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  auto axes = identity_axes(x->rank());
  std::reverse(axes.begin(), axes.end());
  return permuted(call.build, x, std::move(axes));
}

Results last_two_swapped(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const auto rank = static_cast<std::int64_t>(x->rank());
  if (rank == 0) return same(call);
  if (rank < 2) throw error("mT of a tensor of rank {}", rank);
  return transposed(call.build, x, rank - 2, rank - 1);
}

Results permute_op(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  auto axes = call.integers("dims");
  for (auto& a : axes) a = normalize_axis(a, x->rank());
  return permuted(call.build, x, std::move(axes));
}

Results movedim(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  if (x->rank() == 0) return call.ignore({"source", "destination"}), same(call);
  auto from = call.integers("source");
  auto to = call.integers("destination");
  for (auto& a : from) a = normalize_axis(a, x->rank());
  for (auto& a : to) a = normalize_axis(a, x->rank());
  std::vector<std::int64_t> axes(x->rank(), -1);
  for (std::size_t i = 0; i < from.size(); ++i) axes[at(to.at(i))] = from[i];
  auto rest = identity_axes(x->rank());
  std::erase_if(rest, [&](std::int64_t a) { return std::find(from.begin(), from.end(), a) != from.end(); });
  auto next = rest.begin();
  for (auto& a : axes)
    if (a < 0) a = *next++;
  return permuted(call.build, x, std::move(axes));
}

Results select_op(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank());
  const AbstractValue& index = call.value("index");
  if (const auto* t = index.get<TensorPtr>(); t && !call.build.known_number(*t))
    return select_unknown(call.build, x, axis, reshape(call.build.read(*t), {}));
  return select(call.build, x, axis, call.size("index"));
}

/// A number among the arguments that the model computes; empty when it is known or absent.
Ref computed_number(Call& call, std::string_view argument) {
  const auto* d = call.find(argument);
  const auto* t = d ? d->get<TensorPtr>() : nullptr;
  if (!t || call.build.known_number(*t)) return {};
  return cast(DType::i64, reshape(call.build.read(*t), {}));
}
/// An argument that is known, as a number; empty when it is absent.
Ref known_bound(Call& call, std::string_view argument) {
  if (!call.has(argument)) return {};
  return call.build.size(call.size(argument));
}

Results slice_op(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const Dim& size = x->shape()[at(axis)];
  const Ref start = computed_number(call, "start"), end = computed_number(call, "end");
  if (start || end)
    return sliced_unknown(call.build, x, axis, start ? start : known_bound(call, "start"),
                          end ? end : known_bound(call, "end"), call.integer("step", 1));
  const auto bounds = slice_bounds(call.build, call.find("start"), call.find("end"), size);
  return sliced(call.build, x, axis, bounds.start, bounds.end, call.integer("step", 1));
}

/// x.narrow(dim, start, length) whose start is a tensor.
Results narrow_at(Call& call, const TensorPtr& x, std::int64_t axis, const Ref& start) {
  const Ref begin = cast(DType::i64, start);
  const Ref size = dim_value(x->shape()[at(axis)], begin);
  const Ref from = where(begin < begin.literal(0), begin + size, begin);
  const TensorPtr y =
      call.build.view(x, IndexSelect{.axis = axis},
                      apply(Iota{.size = call.size("length")}, call.build.insertion_point()) + from);
  if (x->layout) y->layout = Layout{x->layout->strides, std::nullopt};
  return y;
}

Results narrow(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank());
  if (const auto* t = call.value("start").get<TensorPtr>(); t && !call.build.known_number(*t))
    return narrow_at(call, x, axis, call.build.read(*t));
  const AbstractValue start = call.size("start");
  const Dim size = x->shape()[at(axis)];
  const Dim begin = slice_bounds(call.build, &start, nullptr, size).start;
  return sliced(call.build, x, axis, begin, begin + call.size("length"));
}

/// atleast_1d, _2d, _3d of a tensor or of each in a list.
TensorPtr at_least(Builder& build, const TensorPtr& x, std::size_t rank) {
  Shape shape = x->shape();
  if (shape.size() >= rank) return x;
  if (shape.empty()) shape.push_back(Dim(1));
  if (rank >= 2 && shape.size() == 1) shape.insert(shape.begin(), Dim(1));
  if (rank == 3 && shape.size() == 2) shape.push_back(Dim(1));
  return reshaped(build, x, shape);
}
template <int rank>
Results at_least_op(Call& call) {
  if (!call.find("tensors")) return at_least(call.build, call.tensor_ptr("self"), rank);
  std::vector<AbstractValue> out;
  for (const TensorPtr& t : call.tensors("tensors")) out.emplace_back(at_least(call.build, t, rank));
  return list_of(std::move(out));
}

/// x.as_strided(size, stride, storage_offset): the offset is that in the memory, whatever view of it x is.
TensorPtr strided(Call& call, const TensorPtr& x) {
  const auto sizes = call.sizes("size");
  Layout layout{call.sizes("stride"), x->layout ? x->layout->offset : std::nullopt};
  if (layout.strides.size() != sizes.size())
    throw error("as_strided with {} sizes and {} strides", sizes.size(), layout.strides.size());
  if (call.has("storage_offset")) layout.offset = call.size("storage_offset");
  if (!layout.offset) throw unsupported("as_strided of a view whose place in the memory is not known");
  Dim last = *layout.offset;
  for (std::size_t i = 0; i < sizes.size(); ++i) last = last + (sizes[i] - 1) * layout.strides[i];
  const Dim size = call.build.memory(x)->shape()[0];
  if (call.build.known_less(last, size) == false && numel(sizes) != Dim(0))
    throw error("as_strided reaches element {} of {}", last.str(), size.str());
  Ref places = call.build.literal(AbstractValue(*layout.offset), DType::i64);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Shape column(sizes.size() - i, Dim(1));
    column[0] = sizes[i];
    const Ref along = apply(Iota{.size = sizes[i]}, call.build.insertion_point());
    places = places +
             tenon::reshape(along * call.build.literal(AbstractValue(layout.strides[i]), DType::i64), column);
  }
  return call.build.strided(x, places, std::move(layout));
}
Results as_strided(Call& call) { return strided(call, call.tensor_ptr("self")); }
Results as_strided_scatter(Call& call) {
  const TensorPtr copy = call.build.tensor(call.tensor("self"), call.tensor_ptr("self")->layout);
  const TensorPtr part = strided(call, copy);
  call.build.write(part, cast(copy->dtype(), call.tensor("src")));
  return copy;
}

Results expand_op(Call& call) {
  call.ignore({"implicit"});
  const TensorPtr x = call.tensor_ptr("self");
  return call.build.view(x, Expand{.shape = expanded_shape(call.sizes("size"), x->shape())});
}

Results expand_as(Call& call) {
  return call.build.view(call.tensor_ptr("self"), Expand{.shape = call.tensor_ptr("other")->shape()});
}

/// What is new in the memory is not defined in PyTorch: where all of it is, it is zero here.
Results resize(Call& call) {
  call.ignore({"memory_format"});
  const TensorPtr x = call.tensor_ptr("self");
  const Shape size = call.find("size") ? Shape(call.sizes("size")) : call.tensor_ptr("the_template")->shape();
  if (x->shape() == size) return x;
  if (numel(x->shape()) == Dim(0))
    call.build.resize(x, full(size, 0, x->dtype(), call.build.insertion_point()));
  else if (numel(x->shape()) == numel(size) && x->contiguous() == true)
    call.build.become(x, reshaped(call.build, x, size));
  else
    throw unsupported("{} to another number of elements than {}", call.name, x->type.str());
  return x;
}

/// Windows of `size` elements every `step`, as a new last axis.
Results unfold(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  if (x->rank() == 0) {
    call.ignore({"dimension", "step"});
    return sliced(call.build, reshaped(call.build, x, {Dim(1)}), 0, 0, call.size("size"));
  }
  const std::int64_t axis = call.axis("dimension", x->rank());
  const Dim size = call.size("size");
  const std::int64_t step = call.integer("step");
  call.build.need_at_least(
      x->shape()[at(axis)], size,
      fmt::format("windows of {} along an axis of {}", size.str(), x->shape()[at(axis)].str()));
  const Dim count = floor_div(x->shape()[at(axis)] - size, Dim(step)) + 1;
  const InsertionPoint& point = call.build.insertion_point();
  const Ref starts = apply(Iota{.size = count}, point);
  const Ref offsets = apply(Iota{.size = size}, point);
  const Ref indices =
      tenon::reshape(starts, {count, Dim(1)}) * starts.literal(static_cast<double>(step)) + offsets;
  const TensorPtr windows = call.build.view(x, IndexSelect{.axis = axis}, indices);
  if (size != Dim(1)) windows->steps.back().repeats = true;
  auto axes = identity_axes(windows->rank());
  axes.erase(axes.begin() + axis + 1);
  axes.push_back(axis + 1);
  const TensorPtr y = permuted(call.build, windows, axes);
  if (!x->layout) return y;
  y->layout = x->layout;
  const Dim stride = y->layout->strides[at(axis)];
  y->layout->strides.push_back(stride);
  y->layout->strides[at(axis)] = stride * Dim(step);
  return y;
}

constexpr AtenEntry view_table[] = {
    {"view", view},
    {"_unsafe_view", view},
    {"_reshape_alias", view},
    {"view_as", view_as},
    {"reshape", reshape_op},
    {"reshape_as", reshape_as},
    {"ravel", ravel},
    {"flatten", flatten},
    {"unflatten", unflatten},
    {"squeeze", squeeze},
    {"unsqueeze", unsqueeze},
    {"transpose", transpose_op},
    {"swapaxes", transpose_op},
    {"swapdims", transpose_op},
    {"t", reversed_axes},
    {"numpy_T", reversed_axes},
    {"mT", last_two_swapped},
    {"adjoint", last_two_swapped},
    {"mH", last_two_swapped},
    {"H", reversed_axes},
    {"matrix_H", reversed_axes},
    {"_conj", same},
    {"conj", itself},
    {"permute", permute_op},
    {"movedim", movedim},
    {"moveaxis", movedim},
    {"select", select_op},
    {"slice", slice_op},
    {"narrow", narrow},
    {"atleast_1d", at_least_op<1>},
    {"atleast_2d", at_least_op<2>},
    {"atleast_3d", at_least_op<3>},
    {"as_strided", as_strided},
    {"as_strided_scatter", as_strided_scatter},
    {"expand", expand_op},
    {"expand_as", expand_as},
    {"broadcast_to", expand_op},
    {"detach", same},
    {"alias", same},
    {"real", itself},
    {"resolve_conj", itself},
    {"resolve_neg", itself},
    {"unfold", unfold},
    {"resize_", resize},
    {"resize_as_", resize},
};

}  // namespace

std::span<const AtenEntry> view_entries() { return view_table; }

}  // namespace tenon::converter
