// Sorting along an axis.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// Values and their places (i64). NaN is larger than every number. Equal values keep their order in any case;
/// `stable` says whether a kernel must.
struct Sort : WithReference<1> {
  static constexpr std::string_view name = "sort";
  std::int64_t axis = 0;
  bool descending = false, stable = true;
  static constexpr auto fields = std::tuple{
      field("axis", &Sort::axis), field("descending", &Sort::descending), field("stable", &Sort::stable)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {
      aten("sort(self, axis=dim, descending=descending)"),
      aten("sort.stable(self, axis=dim, descending=descending, stable=stable)")};
};

/// The k largest (or smallest) values and their places (i64); of equal values the first. NaN is larger than
/// every number. Unless `sorted`, only the k-th has to be where it belongs, at the end.
struct TopK : WithReference<1> {
  static constexpr std::string_view name = "topk";
  Dim k = 1;
  std::int64_t axis = 0;
  bool largest = true, sorted = true;
  static constexpr auto fields = std::tuple{field("k", &TopK::k), field("axis", &TopK::axis),
                                            field("largest", &TopK::largest), field("sorted", &TopK::sorted)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("topk(self, k=k, axis=dim, largest=largest, sorted=sorted)")};
};

/// Where each value would be put into a sorted row so that it stays sorted (i64): before equal elements, or
/// with `right` behind them. Operands: rows sorted along their last axis, of the values' leading shape or of
/// rank 1, and values of the same dtype. The row is halved as PyTorch does it, which decides where NaN is in
/// it.
struct SearchSorted : WithReference<2> {
  static constexpr std::string_view name = "search_sorted";
  bool right = false;
  static constexpr auto fields = std::tuple{field("right", &SearchSorted::right)};
  Type infer(const Type& rows, const Type& values) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The most frequent value along an axis, of several the smallest, and its last place (i64).
struct Mode : WithReference<1> {
  static constexpr std::string_view name = "mode";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &Mode::axis)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
};

using Sorting = OpList<Sort, TopK, SearchSorted, Mode>;

}  // namespace tenon
