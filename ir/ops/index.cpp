// Type rules of the operators that read and write at places a tensor names.
#include "ir/ops/index.h"

#include "ir/ops/functions.h"
#include "ir/ops/index_places.h"
#include "ir/ops/slices_by_index.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

// Every axis but the listed one: the indices may not be larger than the data.
void check_fits(const char* what, const Type& x, const Type& indices, std::int64_t axis) {
  check_rank("the tensor of indices", indices, x.rank());
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (static_cast<std::int64_t>(i) != axis && known_less(x.shape[i], indices.shape[i]).value_or(false))
      throw error("axis {} of the indices {} is larger than that of {} {}", i, indices.str(), what, x.str());
}

}  // namespace

std::size_t places_front(const Axes& axes) {
  for (std::size_t i = 1; i < axes.size(); ++i)
    if (axes[i] != axes[i - 1] + 1) return 0;
  return static_cast<std::size_t>(axes[0]);
}

Shape indexed_shape(const Shape& x, const Axes& axes, const Shape& places) {
  Shape out;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(i)) == axes.end()) out.push_back(x[i]);
  out.insert(out.begin() + static_cast<std::ptrdiff_t>(places_front(axes)), places.begin(), places.end());
  return out;
}

Index places_of(InSpan indices) {
  Shape places;
  for (const Tensor& t : indices) places = broadcast(places, to_shape(t.shape()));
  return eval(places, {});
}

Shape index_places(const Type& x, const Axes& axes, TypeSpan indices) {
  check_axes(axes, x);
  if (axes.empty()) throw error("no axis is listed");
  if (!std::is_sorted(axes.begin(), axes.end())) throw error("the axes are not in ascending order");
  if (indices.size() != axes.size())
    throw error("{} tensors of indices are given for {} axes", indices.size(), axes.size());
  Shape places;
  for (const Type& i : indices) {
    check_integer("a tensor of indices", i);
    places = broadcast(places, i.shape);
  }
  return places;
}

Type IndexSelect::infer(const Type& x, const Type& indices) const {
  check_axis(axis, x);
  check_integer("the tensor of indices", indices);
  return {x.dtype, indexed_shape(x.shape, {axis}, indices.shape)};
}

Type Gather::infer(const Type& x, const Type& indices) const {
  check_axis(axis, x);
  check_integer("the tensor of indices", indices);
  check_fits("the data", x, indices, axis);
  return {x.dtype, indices.shape};
}

std::vector<Type> IndexAt::infer(TypeSpan in) const {
  const Shape places = index_places(in[0], axes, in.subspan(1));
  return {Type{in[0].dtype, indexed_shape(in[0].shape, axes, places)}};
}

Type Scatter::infer(const Type& x, const Type& indices, const Type& src) const {
  check_axis(axis, x);
  check_integer("the tensor of indices", indices);
  check_same_dtype("the data", x, "the source", src);
  check_fits("the data", x, indices, axis);
  check_fits("the source", src, indices, -1);
  return x;
}

std::vector<Type> IndexPut::infer(TypeSpan in) const {
  const Type &x = in[0], &value = in[1];
  check_same_dtype("the data", x, "the value", value);
  const Shape target = indexed_shape(x.shape, axes, index_places(x, axes, in.subspan(2)));
  if (broadcast(value.shape, target) != target)
    throw error("the value {} does not broadcast to the places {}", value.str(), str(target));
  return {x};
}

Type IndexAdd::infer(const Type& x, const Type& indices, const Type& src) const {
  check_axis(axis, x);
  check_integer("the tensor of indices", indices);
  check_rank("the tensor of indices", indices, 1);
  check_same_dtype("the data", x, "the source", src);
  check_rank("the source", src, x.rank());
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const bool here = static_cast<std::int64_t>(i) == axis;
    check_same_size(fmt::format("axis {} of the source", i), src.shape[i],
                    here ? "the number of indices" : "that of the data",
                    here ? indices.shape[0] : x.shape[i]);
  }
  return x;
}

Type OneHot::infer(const Type& indices) const {
  check_integer("the tensor of indices", indices);
  Type out{DType::i64, indices.shape};
  out.shape.push_back(classes);
  return out;
}

double Scatter::flops(TypeSpan in, TypeSpan) const {
  return reduce == ScatterReduce::none ? 0 : elements(in[1]);
}

double IndexPut::flops(TypeSpan in, TypeSpan) const {
  if (!accumulate) return 0;
  const Shape places = index_places(in[0], axes, in.subspan(2));
  return elements({in[0].dtype, indexed_shape(in[0].shape, axes, places)});
}

double IndexAdd::flops(TypeSpan in, TypeSpan) const { return elements(in[2]); }

Ref index_select(const Ref& x, std::int64_t axis, const Ref& indices) {
  return apply(IndexSelect{.axis = axis}, {x, indices});
}
Ref gather(const Ref& x, std::int64_t axis, const Ref& indices) {
  return apply(Gather{.axis = axis}, {x, indices});
}
Ref index_add(const Ref& x, std::int64_t axis, const Ref& indices, const Ref& src) {
  return apply(IndexAdd{.axis = axis}, {x, indices, src});
}
Ref scatter_sum(const Ref& x, std::int64_t axis, const Ref& indices, const Ref& src) {
  return apply(Scatter{.axis = axis, .reduce = ScatterReduce::sum}, {x, indices, src});
}

std::vector<const OpInfo*> index_ops() { return family(Indexing{}); }

std::optional<SlicesByIndex> slices_by_index(const Node& node) {
  if (const auto* op = node.as<IndexSelect>())
    return SlicesByIndex{static_cast<std::size_t>(op->axis), false};
  const auto* op = node.as<IndexAt>();
  if (!op || op->axes.size() != 1) return std::nullopt;
  return SlicesByIndex{static_cast<std::size_t>(op->axes[0]), true};
}

bool chooses_rows(const Node& node) {
  const auto slices = slices_by_index(node);
  return slices && slices->axis == 0 && node.input(0)->rank() == 2 &&
         (node.input(1)->dtype() == DType::i64 || node.input(1)->dtype() == DType::i32);
}

}  // namespace tenon
