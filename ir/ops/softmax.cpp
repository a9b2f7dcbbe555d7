// Type rules of softmax and what it is made of.
#include "ir/ops/softmax.h"

#include "ir/ops/functions.h"
#include "ir/ops/working_dtype.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {
Type softmax_type(const Type& x, std::int64_t axis) {
  check_axis(axis, x);
  check_float("the operand", x);
  return x;
}

// Of nothing there is no largest element, and nothing to do.
bool is_over_nothing(const Ref& x, std::int64_t axis) {
  return x.shape()[static_cast<std::size_t>(axis)] == 0;
}

}  // namespace

Type Softmax::infer(const Type& x) const { return softmax_type(x, axis); }
Type LogSoftmax::infer(const Type& x) const { return softmax_type(x, axis); }

Ref Softmax::decompose(Ref x) const {
  if (is_over_nothing(x, axis)) return x;
  const Ref wide = working(x);
  const Ref e = exp(wide - amax(wide, {axis}, true));
  return cast(x.dtype(), e / sum(e, {axis}, true));
}

Ref LogSoftmax::decompose(Ref x) const {
  if (is_over_nothing(x, axis)) return x;
  const Ref wide = working(x);
  const Ref shifted = wide - amax(wide, {axis}, true);
  return cast(x.dtype(), shifted - log(sum(exp(shifted), {axis}, true)));
}

Ref softmax(const Ref& x, std::int64_t axis) { return apply(Softmax{.axis = axis}, {x}); }

std::vector<const OpInfo*> softmax_ops() { return family(Softmaxes{}); }

}  // namespace tenon
