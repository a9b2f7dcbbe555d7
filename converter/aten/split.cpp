// Tensors cut along an axis: the parts are views.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

AbstractValue parts(Builder& build, const TensorPtr& x, std::int64_t axis, std::span<const Dim> sizes) {
  std::vector<AbstractValue> out;
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
AbstractValue even_parts(Builder& build, const TensorPtr& x, std::int64_t axis, const Dim& length) {
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
  if (items_of(call.value(argument))) return parts(call.build, x, axis, call.sizes(argument));
  return even_parts(call.build, x, axis, call.size(argument));
}

Results chunk(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const std::int64_t chunks = call.integer("chunks");
  if (x->shape()[at(axis)] == Dim(0)) return parts(call.build, x, axis, std::vector<Dim>(at(chunks), Dim(0)));
  return even_parts(call.build, x, axis, ceil_div(x->shape()[at(axis)], Dim(chunks)));
}

/// Parts that end at the listed places.
AbstractValue parts_up_to(Builder& build, const TensorPtr& x, std::int64_t axis,
                          std::vector<std::int64_t> ends, std::int64_t total) {
  std::vector<AbstractValue> out;
  std::int64_t start = 0;
  ends.push_back(total);
  for (std::int64_t end : ends) {
    end = std::clamp<std::int64_t>(end < 0 ? end + total : end, 0, total);
    out.emplace_back(sliced(build, x, axis, start, std::max(start, end)));
    start = end;
  }
  return list_of(std::move(out));
}

/// The same for places that the model computes.
AbstractValue parts_up_to_computed(Builder& build, const TensorPtr& x, std::int64_t axis,
                                   const TensorPtr& ends) {
  std::vector<AbstractValue> out;
  Ref start;
  const std::int64_t count = known_size(ends, 0);
  for (std::int64_t i = 0; i <= count; ++i) {
    const Ref end = i < count ? cast(DType::i64, build.read(select(build, ends, 0, Dim(i)))) : Ref();
    out.emplace_back(sliced_unknown(build, x, axis, start, end, 1));
    start = end;
  }
  return list_of(std::move(out));
}

Results tensor_split(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  const std::int64_t total = known_size(x, axis);
  std::int64_t n = 0;
  if (call.find("tensor_indices_or_sections")) {
    const TensorPtr given = call.tensor_ptr("tensor_indices_or_sections");
    if (given->rank() > 0) return parts_up_to_computed(call.build, x, axis, given);
    const auto known = call.build.known_number(given);
    if (!known || !known->is<Dim>() || !known->get<Dim>()->is_known())
      throw unsupported("tensor_split into a number of parts that the model computes").hint("give an int");
    n = known->get<Dim>()->value();
  } else if (!call.has("sections")) {
    return parts_up_to(call.build, x, axis, call.integers("indices"), total);
  } else {
    n = call.integer("sections");
  }
  if (n <= 0) throw error("tensor_split into {} parts", n);
  std::vector<Dim> sizes;
  for (std::int64_t i = 0; i < n; ++i) sizes.emplace_back(total / n + (i < total % n ? 1 : 0));
  return parts(call.build, x, axis, sizes);
}

/// hsplit, vsplit, dsplit: along axis 1 (0 of a vector), 0 and 2.
template <std::int64_t which>
Results split_named(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = which == 1 && x->rank() == 1 ? 0 : which;
  const std::int64_t total = known_size(x, axis);
  if (call.has("sections")) {
    const std::int64_t n = call.integer("sections");
    if (n <= 0 || total % n != 0) throw error("an axis of {} elements does not split into {}", total, n);
    return parts(call.build, x, axis, std::vector<Dim>(at(n), Dim(total / n)));
  }
  return parts_up_to(call.build, x, axis, call.integers("indices"), total);
}

Results unbind(Call& call) {
  const TensorPtr x = call.tensor_ptr("self");
  const std::int64_t axis = call.axis("dim", x->rank(), 0);
  std::vector<AbstractValue> out;
  for (std::int64_t i = 0; i < known_size(x, axis); ++i)
    out.emplace_back(select(call.build, x, axis, Dim(i)));
  return list_of(std::move(out));
}

constexpr AtenEntry split_table[] = {
    {"split", split},
    {"unsafe_split", split},
    {"split_with_sizes", split_with_sizes},
    {"unsafe_split_with_sizes", split_with_sizes},
    {"chunk", chunk},
    {"unsafe_chunk", chunk},
    {"tensor_split", tensor_split},
    {"hsplit", split_named<1>},
    {"vsplit", split_named<0>},
    {"dsplit", split_named<2>},
    {"unbind", unbind},
};

}  // namespace

std::span<const AtenEntry> split_entries() { return split_table; }

}  // namespace tenon::converter
