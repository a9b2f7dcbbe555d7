// Backward operators by their formulas, which leave out what the forward operator's derivative would make NaN
// of: targets that are ignored, points at distance 0, factors that are 0.
#include <cmath>

#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

enum Reduction : std::int64_t { none = 0, mean_of = 1 };

/// nll_loss and nll_loss2d alike: the classes are axis 1, or 0 of a single sample.
Results nll_loss_backward(Call& call) {
  const Ref x = call.tensor("self"), total = call.tensor("total_weight");
  const std::int64_t axis = x.rank() == 1 ? 0 : 1, reduction = call.integer("reduction", mean_of);
  const Dim classes = x.shape()[static_cast<std::size_t>(axis)];
  const auto along_classes = [&](const Ref& v) {
    Shape shape(x.rank() - static_cast<std::size_t>(axis), Dim(1));
    shape[0] = classes;
    return reshape(v, shape);
  };
  const auto among_classes = [&](const Ref& v) { return reshape(v, with_axis(v.shape(), axis)); };
  const Ref target = among_classes(cast(DType::i64, call.tensor("target")));
  const Ref ignored = call.build.literal(call.integer("ignore_index", -100), DType::i64);
  const Ref counts = logical_and(equal(along_classes(iota(classes, call.build.insertion_point())), target),
                                 not_equal(target, ignored));
  Ref grad = call.tensor("grad_output");
  if (reduction == none) grad = among_classes(grad);
  if (reduction == mean_of) grad = grad / total;
  Ref value = -grad;
  if (const Ref weight = call.optional_tensor("weight")) value = value * along_classes(weight);
  return expand(where(counts, value, 0), x.shape());
}

/// The gradient of weight is that of each element: the caller sums it up.
Results prelu_backward(Call& call) {
  const Ref grad = call.tensor("grad_output"), x = call.tensor("self"), weight = call.tensor("weight");
  const Ref above = x > x.literal(0), zero = x.literal(0);
  return std::vector<Ref>{where(above, grad, weight * grad), where(above, zero, x * grad)};
}

/// Of the p-norms between the rows of x1 and x2, by x1.
Results cdist_backward(Call& call) {
  const Ref x1 = call.tensor("x1"), x2 = call.tensor("x2");
  const double p = call.number("p");
  const auto rank = static_cast<std::int64_t>(x1.rank());
  const auto with_one = [](const Ref& x, std::int64_t at) { return reshape(x, with_axis(x.shape(), at)); };
  const Ref away = with_one(x1, rank - 1) - with_one(x2, rank - 2);
  const Ref grad = with_one(call.tensor("grad"), rank), distance = with_one(call.tensor("cdist"), rank);
  const Ref zero = away.literal(0), direction = sign(away);
  if (p == 0) return full(x1.shape(), 0, x1.dtype(), call.build.insertion_point());
  Ref by_x1 = direction * grad;
  if (std::isinf(p)) {
    by_x1 = where(equal(abs(away), distance), by_x1, zero);
  } else if (p != 1) {
    const Ref share = abs(away) / distance;
    by_x1 = by_x1 * pow(share, share.literal(p - 1));
  }
  const Ref is_flat = p < 1 ? equal(away, zero) : equal(distance, zero);
  return sum(where(is_flat, zero, by_x1), {rank - 1});
}

/// Behind the first zero of the input nothing counts; at it, the products without it do.
Results cumprod_backward(Call& call) {
  const Ref grad = call.tensor("grad"), x = call.tensor("input"), y = call.tensor("output");
  if (x.rank() == 0) return call.ignore({"dim"}), Results(grad);
  const std::int64_t axis = call.axis("dim", x.rank());
  const auto sums_from = [&](const Ref& v) { return flip(cumsum(flip(v, {axis}), axis), {axis}); };
  const Ref zeros = cumsum(cast(DType::i64, equal(x, x.literal(0))), axis);
  const Ref is_first = logical_and(equal(x, x.literal(0)), equal(zeros, zeros.literal(1)));
  const Ref without = cumprod(where(is_first, x.literal(1), x), axis);
  const Ref behind = where(zeros > zeros.literal(0), x.literal(0), sums_from(grad * y) / x);
  return where(is_first, sums_from(grad * without), behind);
}

constexpr AtenEntry backward_loss_table[] = {
    {"nll_loss_backward", nll_loss_backward, HalfPrecision::in_f32},
    {"nll_loss2d_backward", nll_loss_backward, HalfPrecision::in_f32},
    {"_prelu_kernel_backward", prelu_backward, HalfPrecision::in_f32},
    {"_cdist_backward", cdist_backward, HalfPrecision::in_f32},
    {"cumprod_backward", cumprod_backward, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> backward_loss_entries() { return backward_loss_table; }

}  // namespace tenon::converter
