// Reductions over axes, and running sums.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// The type of what a reduction gives, and its reference.
Type reduced(const Type& x, const Reduction&);
void reduce(const Tensor& x, const Reduction&, Tensor& out);

/// A reduction: its type rule, its reference and the loop that runs it follow from the fold (base/reduce.h).
/// Operator T has `keepdim`, and `axes` or one `axis`.
template <class T, Reduce fold>
struct ReductionOp : PerElement {
  static constexpr bool averages = false;
  Reduction reduction() const {
    const T& op = static_cast<const T&>(*this);
    if constexpr (requires { op.axes; })
      return {fold, op.axes, op.keepdim, T::averages};
    else
      return {fold, {op.axis}, op.keepdim, T::averages};
  }
  Axes row_axes(std::size_t) const { return reduction().axes; }
  Type infer(const Type& x) const { return reduced(x, reduction()); }
  void reference(InSpan in, OutSpan out) const { reduce(in[0], reduction(), out[0]); }
};

/// In the dtype of the operand; bool is to be cast first. Over axes of size 0 it is 0.
struct Sum : ReductionOp<Sum, Reduce::sum> {
  static constexpr std::string_view name = "sum";
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axes", &Sum::axes), field("keepdim", &Sum::keepdim)};
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("sum.dim_IntList(self, axes=dim, keepdim=keepdim)")};
};

struct Mean : ReductionOp<Mean, Reduce::sum> {
  static constexpr std::string_view name = "mean";
  static constexpr bool averages = true;
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axes", &Mean::axes), field("keepdim", &Mean::keepdim)};
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("mean.dim(self, axes=dim, keepdim=keepdim)")};
};

/// In the dtype of the operand; bool is to be cast first. Over axes of size 0 it is 1.
struct Prod : ReductionOp<Prod, Reduce::prod> {
  static constexpr std::string_view name = "prod";
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axes", &Prod::axes), field("keepdim", &Prod::keepdim)};
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
};

/// NaN when one of them is.
struct Amax : ReductionOp<Amax, Reduce::max> {
  static constexpr std::string_view name = "amax";
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axes", &Amax::axes), field("keepdim", &Amax::keepdim)};
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("amax(self, axes=dim, keepdim=keepdim)")};
};

/// NaN when one of them is.
struct Amin : ReductionOp<Amin, Reduce::min> {
  static constexpr std::string_view name = "amin";
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axes", &Amin::axes), field("keepdim", &Amin::keepdim)};
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("amin(self, axes=dim, keepdim=keepdim)")};
};

/// bool, from any dtype: not zero.
struct Any : ReductionOp<Any, Reduce::any> {
  static constexpr std::string_view name = "any";
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axes", &Any::axes), field("keepdim", &Any::keepdim)};
};

/// bool, from any dtype: not zero.
struct All : ReductionOp<All, Reduce::all> {
  static constexpr std::string_view name = "all";
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axes", &All::axes), field("keepdim", &All::keepdim)};
};

/// The first place (i64); NaN counts as the largest.
struct ArgMax : ReductionOp<ArgMax, Reduce::argmax> {
  static constexpr std::string_view name = "argmax";
  std::int64_t axis = 0;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axis", &ArgMax::axis), field("keepdim", &ArgMax::keepdim)};
  static constexpr std::array from = {aten("argmax(self, axis=dim, keepdim=keepdim)")};
};

/// The first place (i64); NaN counts as the smallest.
struct ArgMin : ReductionOp<ArgMin, Reduce::argmin> {
  static constexpr std::string_view name = "argmin";
  std::int64_t axis = 0;
  bool keepdim = false;
  static constexpr auto fields = std::tuple{field("axis", &ArgMin::axis), field("keepdim", &ArgMin::keepdim)};
  static constexpr std::array from = {aten("argmin(self, axis=dim, keepdim=keepdim)")};
};

struct CumSum : PerElement {
  static constexpr std::string_view name = "cumsum";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &CumSum::axis)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("cumsum(self, axis=dim)")};
};

struct CumProd : PerElement {
  static constexpr std::string_view name = "cumprod";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &CumProd::axis)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  static constexpr std::array from = {aten("cumprod(self, axis=dim)")};
};

/// The largest element so far and its last place (i64); NaN counts as the largest.
struct CumMax : PerElement {
  static constexpr std::string_view name = "cummax";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &CumMax::axis)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The smallest element so far and its last place (i64); NaN counts as the smallest.
struct CumMin : PerElement {
  static constexpr std::string_view name = "cummin";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &CumMin::axis)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// log(cumsum(exp(x))) without overflow; of floats.
struct LogCumSumExp : PerElement {
  static constexpr std::string_view name = "logcumsumexp";
  std::int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &LogCumSumExp::axis)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

struct LogSumExp : Composite<1> {
  static constexpr std::string_view name = "logsumexp";
  Axes axes;
  bool keepdim = false;
  static constexpr auto fields =
      std::tuple{field("axes", &LogSumExp::axes), field("keepdim", &LogSumExp::keepdim)};
  Type infer(const Type& x) const;
  Ref decompose(Ref x) const;
  static constexpr std::array from = {aten("logsumexp(self, axes=dim, keepdim=keepdim)")};
};

/// sum((x - mean(x))^2) / max(count - correction, 0).
struct Variance : Composite<1> {
  static constexpr std::string_view name = "variance";
  Axes axes;
  double correction = 1;
  bool keepdim = false;
  static constexpr auto fields =
      std::tuple{field("axes", &Variance::axes), field("correction", &Variance::correction),
                 field("keepdim", &Variance::keepdim)};
  Type infer(const Type& x) const;
  Ref decompose(Ref x) const;
  static constexpr std::array from = {
      aten("var.correction(self, axes=dim, correction=correction, keepdim=keepdim)")};
};

using Reductions = OpList<Sum, Mean, Prod, Amax, Amin, Any, All, ArgMax, ArgMin, CumSum, CumProd, CumMax,
                          CumMin, LogCumSumExp, LogSumExp, Variance>;

}  // namespace tenon
