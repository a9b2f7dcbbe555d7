// The type rule of resizing, and its gradient.
#include "ir/ops/interpolate.h"

#include "ir/ops/separable_gradient.h"
#include "ir/read_definition.h"

namespace tenon {

Type Interpolate::infer(const Type& x) const {
  if (x.rank() < 3 || x.rank() > 5)
    throw error("the input {} has {} axes; N, C and 1, 2 or 3 spatial ones are needed", x.str(), x.rank());
  const std::size_t dims = x.rank() - 2;
  if (output.size() != dims) throw error("output has {} values for {} spatial dims", output.size(), dims);
  if (!scales.empty() && scales.size() != dims)
    throw error("scales has {} values for {} spatial dims", scales.size(), dims);
  const bool nearest = mode == InterpolateMode::nearest || mode == InterpolateMode::nearest_exact;
  if (mode == InterpolateMode::cubic && dims != 2) throw error("cubic takes 2 spatial dims, not {}", dims);
  if (nearest && align_corners) throw error("align_corners is for linear and cubic");
  if (!nearest) check_float("the operand", x);
  Type out = x;
  for (std::size_t i = 0; i < dims; ++i) out.shape[2 + i] = output[i];
  return out;
}

double Interpolate::flops(TypeSpan in, TypeSpan out) const {
  double taps = 1;  // of an element of the result, each a multiply-add
  for (std::size_t i = 2; i < in[0].rank(); ++i) taps *= mode == InterpolateMode::cubic ? 4 : 2;
  const bool nearest = mode == InterpolateMode::nearest || mode == InterpolateMode::nearest_exact;
  return nearest ? 0 : 2 * taps * elements(out[0]);
}

std::vector<Ref> Interpolate::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  return {separable_gradient(grads[0], in[0].shape(), [&](const Ref& x, std::size_t axis, const Dim& size) {
    Interpolate along = *this;
    along.output.assign(output.size(), Dim(1));
    along.output[axis - 2] = size;
    if (!scales.empty()) along.scales.assign(scales.size(), 0);
    if (!scales.empty()) along.scales[axis - 2] = scales[axis - 2];
    return tenon::apply(along, {x});
  })};
}

std::vector<const OpInfo*> interpolate_ops() { return family(Interpolations{}); }

}  // namespace tenon
