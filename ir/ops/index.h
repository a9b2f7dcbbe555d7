// Reading and writing at places that a tensor names.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// Slices of x along an axis; the axis is replaced by those of the indices (any rank). An embedding is axis
/// 0. Indices lie in [0, size).
struct IndexSelect : WithReference<2> {
  static constexpr std::string_view name = "index_select";
  static constexpr bool takes_strings = true;
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &IndexSelect::axis)};
  Type infer(const Type& x, const Type& indices) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("index_select(self, index, axis=dim)")};
};

/// out[i][j][k] = x[i][indices[i][j][k]][k] for axis 1. The shape of the result is that of the indices.
/// Indices lie in [0, size).
struct Gather : WithReference<2> {
  static constexpr std::string_view name = "gather";
  static constexpr bool takes_strings = true;
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &Gather::axis)};
  Type infer(const Type& x, const Type& indices) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("gather(self, index, axis=dim)"),
                                      onnx("GatherElements(x, indices, axis=axis)")};
};

/// Advanced indexing x[..., i, j, ...]: one tensor of integers for each listed axis; they broadcast together.
/// Their axes stand where the listed axes stood when these are adjacent, else in front. Indices lie in
/// [-size, size).
struct IndexAt : WithReference<2, -1> {
  static constexpr std::string_view name = "index";
  static constexpr bool takes_strings = true;
  Axes axes;
  static constexpr auto fields = std::tuple{field("axes", &IndexAt::axes)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

/// How Scatter joins what falls on one place.
enum class ScatterReduce : std::uint8_t { none, sum, prod, amax, amin, mean };
template <>
struct EnumNames<ScatterReduce> {
  static constexpr std::array names = {"none", "sum", "prod", "amax", "amin", "mean"};
};

/// x with x[i][indices[i][j][k]][k] = src[i][j][k] for axis 1, or joined with what is there (include_self)
/// and with what else falls there. Without a reduction the last one in row-major order wins. Indices lie in
/// [0, size).
struct Scatter : WithReference<3> {
  static constexpr std::string_view name = "scatter";
  std::int64_t axis = 0;
  ScatterReduce reduce = ScatterReduce::none;
  bool include_self = true;
  static constexpr auto fields = std::tuple{field("axis", &Scatter::axis), field("reduce", &Scatter::reduce),
                                            field("include_self", &Scatter::include_self)};
  Type infer(const Type& x, const Type& indices, const Type& src) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("scatter_add(self, index, src, axis=dim)"),
                                      aten("scatter.src(self, index, src, axis=dim)")};
};

/// x with the places that IndexAt(x, indices...) reads set to the value (broadcast), or increased by it.
/// Operands: x, value, indices...
struct IndexPut : WithReference<3, -1> {
  static constexpr std::string_view name = "index_put";
  Axes axes;
  bool accumulate = false;
  static constexpr auto fields =
      std::tuple{field("axes", &IndexPut::axes), field("accumulate", &IndexPut::accumulate)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

/// x with slice i of src added to slice indices[i] along an axis; indices have rank 1 and lie in [0, size),
/// or in [-size, size) where they count from the end.
struct IndexAdd : WithReference<3> {
  static constexpr std::string_view name = "index_add";
  std::int64_t axis = 0;
  bool from_end = false;
  static constexpr auto fields =
      std::tuple{field("axis", &IndexAdd::axis), field("from_end", &IndexAdd::from_end)};
  Type infer(const Type& x, const Type& indices, const Type& src) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("index_add(self, index, source, axis=dim)")};
};

/// A new last axis of i64 with 1 at the index, 0 elsewhere.
struct OneHot : WithReference<1> {
  static constexpr std::string_view name = "one_hot";
  Dim classes = 0;
  static constexpr auto fields = std::tuple{field("classes", &OneHot::classes)};
  Type infer(const Type& indices) const;
  void reference(InSpan in, OutSpan out) const;
};

using Indexing = OpList<IndexSelect, Gather, IndexAt, Scatter, IndexPut, IndexAdd, OneHot>;

}  // namespace tenon
