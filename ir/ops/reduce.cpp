// Type rules of the reductions, and those that are made of others.
#include "ir/ops/reduce.h"

#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

void check_number(const Type& x) {
  if (is_bool(x.dtype)) throw error("the operand is {}: cast it to i64 first", x.str());
}

// A largest element of nothing does not exist.
void check_not_empty(const Type& x, const Axes& axes) {
  for (const std::int64_t axis : axes)
    if (x.shape[static_cast<std::size_t>(axis)] == 0) throw error("axis {} of {} is empty", axis, x.str());
}

Type running_type(const Type& x, std::int64_t axis) {
  check_axis(axis, x);
  check_number(x);
  return x;
}

}  // namespace

Type reduced(const Type& x, const Reduction& r) {
  const ReduceInfo& fold = info(r.fold);
  if (r.averages)
    check_float("the operand", x);
  else if (fold.kind == ReduceKind::number && !fold.picks)
    check_number(x);
  Type out = reduced(x, r.axes, r.keepdim);
  if (fold.picks) check_not_empty(x, r.axes);
  if (fold.kind == ReduceKind::truth) out.dtype = DType::boolean;
  if (fold.kind == ReduceKind::position) out.dtype = DType::i64;
  return out;
}

Type CumSum::infer(const Type& x) const { return running_type(x, axis); }
Type CumProd::infer(const Type& x) const { return running_type(x, axis); }
Type LogCumSumExp::infer(const Type& x) const {
  check_float("the operand", x);
  return running_type(x, axis);
}

namespace {
std::vector<Type> running_best_types(const Type& x, std::int64_t axis) {
  check_axis(axis, x);
  return {x, Type{DType::i64, x.shape}};
}
}  // namespace

std::vector<Type> CumMax::infer(TypeSpan x) const { return running_best_types(x[0], axis); }
std::vector<Type> CumMin::infer(TypeSpan x) const { return running_best_types(x[0], axis); }

Type LogSumExp::infer(const Type& x) const {
  check_float("the operand", x);
  return reduced(x, axes, keepdim);
}

Ref LogSumExp::decompose(Ref x) const {
  const Ref largest = amax(x, axes, true);
  const Ref shift = where(apply(IsInf{}, {largest}), largest.literal(0), largest);
  const Ref total = log(tenon::sum(exp(x - shift), axes, true)) + shift;
  return keepdim ? total : reshape(total, reduced(x.type(), axes, false).shape);
}

Type Variance::infer(const Type& x) const {
  check_float("the operand", x);
  return reduced(x, axes, keepdim);
}

Ref Variance::decompose(Ref x) const {
  Dim count = 1;
  for (const std::int64_t axis : axes) count = count * x.shape()[static_cast<std::size_t>(axis)];
  const Ref centred = x - mean(x, axes, true);
  const Ref squares = sum(centred * centred, axes, keepdim), rest = sum(centred, axes, keepdim);
  // The mean is rounded: what it is off by is the mean of what is centred.
  const Ref total = maximum(squares - rest * rest / dim_value(count, x), x.literal(0));
  if (count.is_known()) return total / std::max(static_cast<double>(count.value()) - correction, 0.0);
  return total / maximum(dim_value(count, x) - correction, x.literal(0));
}

Ref sum_to(const Ref& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  Axes axes;
  const std::size_t added = x.rank() - shape.size();
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i < added || (shape[i - added] == 1 && x.shape()[i] != 1))
      axes.push_back(static_cast<std::int64_t>(i));
  const Ref total = axes.empty() ? x : sum(x, axes, true);
  return total.shape() == shape ? total : reshape(total, shape);
}

Ref sum(const Ref& x, Axes axes, bool keepdim) {
  return apply(Sum{.axes = std::move(axes), .keepdim = keepdim}, {x});
}
Ref mean(const Ref& x, Axes axes, bool keepdim) {
  return apply(Mean{.axes = std::move(axes), .keepdim = keepdim}, {x});
}
Ref prod(const Ref& x, Axes axes, bool keepdim) {
  return apply(Prod{.axes = std::move(axes), .keepdim = keepdim}, {x});
}
Ref amax(const Ref& x, Axes axes, bool keepdim) {
  return apply(Amax{.axes = std::move(axes), .keepdim = keepdim}, {x});
}
Ref amin(const Ref& x, Axes axes, bool keepdim) {
  return apply(Amin{.axes = std::move(axes), .keepdim = keepdim}, {x});
}
Ref any(const Ref& x, Axes axes, bool keepdim) {
  return apply(Any{.axes = std::move(axes), .keepdim = keepdim}, {x});
}
Ref all(const Ref& x, Axes axes, bool keepdim) {
  return apply(All{.axes = std::move(axes), .keepdim = keepdim}, {x});
}
Ref cumsum(const Ref& x, std::int64_t axis) { return apply(CumSum{.axis = axis}, {x}); }
Ref cumprod(const Ref& x, std::int64_t axis) { return apply(CumProd{.axis = axis}, {x}); }

std::vector<const OpInfo*> reduce_ops() { return family(Reductions{}); }

}  // namespace tenon
