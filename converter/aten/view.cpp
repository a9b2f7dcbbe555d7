// Operators whose results share the memory of their operand.
#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/create.h"
#include "ir/ops/index.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

std::size_t at(std::int64_t axis) { return static_cast<std::size_t>(axis); }

std::vector<std::int64_t> identity_axes(std::size_t rank) {
  std::vector<std::int64_t> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Results view(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  if (call.overload == "dtype") throw unsupported("a view as another dtype");
  return reshaped(call.build, x, resolved_shape(call.sizes("size"), numel(x->shape())));
}

Results view_as(Call& call) {
  return reshaped(call.build, call.tensor_ptr("self"), call.tensor_ptr("other")->shape());
}

/// A view where the operand is known to be contiguous, else perhaps a copy.
TensorPtr view_or_copy(Builder& build, const TensorPtr& x, const Shape& shape) {
  if (shape == x->shape()) return reshaped(build, x, shape);
  if (x->dense) return reshaped(build, x, shape);
  return build.maybe_view(x, tenon::reshape(build.read(x), shape));
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
  return view_or_copy(call.build, x, {numel(x->shape())});
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
  Shape shape = x->shape();
  shape.erase(shape.begin() + axis);
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
    if (asked && size == Dim(1)) continue;
    if (asked && !all && known_equal(size, Dim(1)) != false && !size.is_known())
      throw unsupported("squeeze of an axis of size {}, which may be 1 or not", size.str())
          .hint("give that dimension of the input a number");
    if (asked && all && !size.is_known() && known_equal(size, Dim(1)) != false)
      throw unsupported("squeeze() of a tensor with an axis of size {}, which may be 1 or not", size.str())
          .hint("name the axis: squeeze(dim)");
    shape.push_back(size);
  }
  return reshaped(call.build, x, shape);
}

Results unsqueeze(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  Shape shape = x->shape();
  shape.insert(shape.begin() + call.axis("dim", x->rank() + 1), Dim(1));
  return reshaped(call.build, x, shape);
}

TensorPtr transposed(Builder& build, const TensorPtr& x, std::int64_t a, std::int64_t b) {
  auto axes = identity_axes(x->rank());
  if (!axes.empty()) std::swap(axes[at(a)], axes[at(b)]);
  return permuted(build, x, std::move(axes));
}

Results transpose_op(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::string_view first = call.find("dim0") ? "dim0" : "axis0";
  const std::string_view second = call.find("dim1") ? "dim1" : "axis1";
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
  const Datum& index = call.datum("index");
  if (const auto* t = index.get<TensorPtr>(); t && !call.build.known_number(*t)) {
    return index_select(call.build.read(x), axis, call.build.read(*t));
  }
  return select(call.build, x, axis, call.size("index"));
}

Results slice_op(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const Dim& size = x->shape()[at(axis)];
  const auto bounds = slice_bounds(call.build, call.find("start"), call.find("end"), size);
  return sliced(call.build, x, axis, bounds.start, bounds.end, call.integer("step", 1));
}

Results narrow(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank());
  const Datum start = call.size("start");
  const Dim size = x->shape()[at(axis)];
  const Dim begin = slice_bounds(call.build, &start, nullptr, size).start;
  return sliced(call.build, x, axis, begin, begin + call.size("length"));
}

Datum parts(Builder& build, const TensorPtr& x, std::int64_t axis, std::span<const Dim> sizes) {
  std::vector<Datum> out;
  Dim start(0);
  for (const Dim& size : sizes) {
    out.emplace_back(sliced(build, x, axis, start, start + size));
    start = start + size;
  }
  return list_of(std::move(out));
}

std::int64_t known_size(const TensorPtr& x, std::int64_t axis) {
  const Dim& size = x->shape()[at(axis)];
  if (size.is_known()) return size.value();
  throw unsupported(
      "a split along an axis of unknown size ({}): the number of parts would depend on the input", size.str())
      .hint("give that dimension of the input a number");
}

/// Parts of `length` elements, the last one shorter.
Datum even_parts(Builder& build, const TensorPtr& x, std::int64_t axis, const Dim& length) {
  const Dim& size = x->shape()[at(axis)];
  if (length == size) return parts(build, x, axis, std::array{size});
  const Dim count = ceil_div(size, length);
  if (!length.is_known() && count.is_known() && length * count == size) {
    return parts(build, x, axis, std::vector<Dim>(at(count.value()), length));
  }
  const std::int64_t total = known_size(x, axis);
  if (!length.is_known() || length.value() <= 0)
    throw unsupported("a split into parts of {} elements", length.str());
  std::vector<Dim> sizes;
  for (std::int64_t start = 0; start < total; start += length.value())
    sizes.emplace_back(std::min(length.value(), total - start));
  if (sizes.empty()) sizes.emplace_back(0);
  return parts(build, x, axis, sizes);
}

Results split_with_sizes(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  return parts(call.build, x, call.axis("dim", x->rank(), 0), call.sizes("split_sizes"));
}

Results split(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const std::string_view argument = call.find("split_size") ? "split_size" : "split_sizes";
  if (items_of(call.datum(argument))) return parts(call.build, x, axis, call.sizes(argument));
  return even_parts(call.build, x, axis, call.size(argument));
}

Results chunk(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const std::int64_t chunks = call.integer("chunks");
  if (x->shape()[at(axis)] == Dim(0)) return parts(call.build, x, axis, std::vector<Dim>(at(chunks), Dim(0)));
  return even_parts(call.build, x, axis, ceil_div(x->shape()[at(axis)], Dim(chunks)));
}

Results tensor_split(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const std::int64_t total = known_size(x, axis);
  std::vector<Dim> sizes;
  if (call.has("sections")) {
    const std::int64_t n = call.integer("sections");
    for (std::int64_t i = 0; i < n; ++i) sizes.emplace_back(total / n + (i < total % n ? 1 : 0));
  } else {
    std::int64_t start = 0;
    auto ends = call.integers("indices");
    ends.push_back(total);
    for (std::int64_t end : ends) {
      end = std::clamp(end < 0 ? end + total : end, start, total);
      sizes.emplace_back(end - start);
      start = end;
    }
  }
  return parts(call.build, x, axis, sizes);
}

Results unbind(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  std::vector<Datum> out;
  for (std::int64_t i = 0; i < known_size(x, axis); ++i)
    out.emplace_back(select(call.build, x, axis, Dim(i)));
  return list_of(std::move(out));
}

Results expand_op(Call& call) {
  call.ignore({"implicit"});
  const TensorPtr x = call.tensor_ptr("self");
  return call.build.view(x, Expand{.shape = expanded_shape(call.sizes("size"), x->shape())});
}

Results expand_as(Call& call) {
  return call.build.view(call.tensor_ptr("self"), Expand{.shape = call.tensor_ptr("other")->shape()});
}

Results same(Call& call) {
  return call.build.view(call.tensor_ptr("self"), Reshape{.shape = call.tensor_ptr("self")->shape()});
}

/// Elements i of the axes a and b as the last axis: read through a flat axis.
Results diagonal(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t a = call.axis("dim1", x->rank(), 0);
  const std::int64_t b = call.axis("dim2", x->rank(), 1);
  const Dim offset = call.size("offset", 0);
  const Dim rows = x->shape()[at(a)];
  const Dim columns = x->shape()[at(b)];
  if (!offset.is_known()) throw unsupported("a diagonal at an unknown offset ({})", offset.str());
  const bool above = offset.value() >= 0;
  const Dim length =
      above ? min(rows, max(columns - offset, Dim(0))) : min(max(rows + offset, Dim(0)), columns);
  auto axes = identity_axes(x->rank());
  std::erase_if(axes, [&](std::int64_t axis) { return axis == a || axis == b; });
  axes.push_back(a);
  axes.push_back(b);
  Ref flat = permute(call.build.read(x), axes);
  Shape shape(flat.shape().begin(), flat.shape().end() - 2);
  const auto last = static_cast<std::int64_t>(shape.size());
  shape.push_back(rows * columns);
  flat = tenon::reshape(flat, shape);
  const Dim start = above ? offset : -offset * columns;
  if (!columns.is_known())
    throw unsupported("a diagonal of a matrix with an unknown number of columns ({})", columns.str());
  const std::int64_t step = columns.value() + 1;
  const Dim end = start + (length - 1) * Dim(step) + 1;
  return call.build.maybe_view(x, slice(flat, last, start, end, step));
}

/// Windows of `size` elements every `step`, as a new last axis.
Results unfold(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dimension", x->rank());
  const Dim size = call.size("size");
  const std::int64_t step = call.integer("step");
  const Dim count = floor_div(x->shape()[at(axis)] - size, Dim(step)) + 1;
  const Place& place = call.build.place();
  const Ref starts = apply(Iota{.size = count}, place);
  const Ref offsets = apply(Iota{.size = size}, place);
  const Ref indices =
      tenon::reshape(starts, {count, Dim(1)}) * starts.literal(static_cast<double>(step)) + offsets;
  Ref y = index_select(call.build.read(x), axis, indices);
  auto axes = identity_axes(y.rank());
  axes.erase(axes.begin() + axis + 1);
  axes.push_back(axis + 1);
  return call.build.maybe_view(x, permute(y, axes));
}

constexpr Entry entries[] = {
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
    {"permute", permute_op},
    {"movedim", movedim},
    {"moveaxis", movedim},
    {"select", select_op},
    {"slice", slice_op},
    {"narrow", narrow},
    {"split", split},
    {"unsafe_split", split},
    {"split_with_sizes", split_with_sizes},
    {"unsafe_split_with_sizes", split_with_sizes},
    {"chunk", chunk},
    {"unsafe_chunk", chunk},
    {"tensor_split", tensor_split},
    {"unbind", unbind},
    {"expand", expand_op},
    {"expand_as", expand_as},
    {"broadcast_to", expand_op},
    {"detach", same},
    {"alias", same},
    {"real", same},
    {"resolve_conj", same},
    {"resolve_neg", same},
    {"diagonal", diagonal},
    {"unfold", unfold},
};

}  // namespace

std::span<const Entry> view_entries() { return entries; }

}  // namespace tenon::converter
