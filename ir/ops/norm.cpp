// Type rules of the normalisations and what they are made of.
#include "ir/ops/norm.h"

#include "ir/ops/functions.h"
#include "ir/ops/working_dtype.h"
#include "ir/read_definition.h"

namespace tenon {
namespace {

// Per-channel values [C] as [C, 1, ...], so that they broadcast against x[N, C, ...].
Ref per_channel(const Ref& values, const Ref& x) {
  Shape shape(x.rank() - 1, 1);
  shape[0] = values.shape()[0];
  return reshape(values, std::move(shape));
}

Ref normalised(const Ref& x, const Axes& axes, double eps) {
  const Ref centred = x - mean(x, axes, true);
  return centred * rsqrt(mean(centred * centred, axes, true) + eps);
}

void check_channels(const Type& x) {
  check_float("the operand", x);
  if (x.rank() < 2) throw error("{} has no axis of channels", x.str());
}

void check_per_channel(const char* what, const Type& t, const Type& x) {
  check_same_dtype("the operand", x, what, t);
  check_rank(what, t, 1);
  check_same_size(what, t.shape[0], "the number of channels", x.shape[1]);
}

void check_trailing(TypeSpan in, std::int64_t rank) {
  const Type& x = in[0];
  check_float("the operand", x);
  if (rank < 1 || rank > static_cast<std::int64_t>(x.rank())) throw error("rank is {} for {}", rank, x.str());
  const Shape trailing(x.shape.end() - rank, x.shape.end());
  for (std::size_t i = 1; i < in.size(); ++i) {
    const char* what = i == 1 ? "the weight" : "the bias";
    check_same_dtype("the operand", x, what, in[i]);
    if (in[i].shape != trailing)
      throw error("{} is {}, its shape must be {}", what, in[i].str(), str(trailing));
  }
}

}  // namespace

Type BatchNorm::infer(const Type& x, const Type& mean, const Type& variance, const Type& weight,
                      const Type& bias) const {
  check_channels(x);
  check_per_channel("the mean", mean, x);
  check_per_channel("the variance", variance, x);
  check_per_channel("the weight", weight, x);
  check_per_channel("the bias", bias, x);
  return x;
}

Ref BatchNorm::decompose(Ref x, Ref mean, Ref variance, Ref weight, Ref bias) const {
  const Ref scale = working(weight) * rsqrt(working(variance) + eps);
  const Ref shift = working(bias) - working(mean) * scale;
  return cast(x.dtype(), working(x) * per_channel(scale, x) + per_channel(shift, x));
}

std::vector<Type> LayerNorm::infer(TypeSpan in) const {
  check_trailing(in, rank);
  return {in[0]};
}

std::vector<Ref> LayerNorm::decompose(RefSpan in) const {
  Ref y = normalised(working(in[0]), last_axes(in[0].rank(), rank), eps);
  if (in.size() > 1) y = y * working(in[1]);
  if (in.size() > 2) y = y + working(in[2]);
  return {cast(in[0].dtype(), y)};
}

std::vector<Type> GroupNorm::infer(TypeSpan in) const {
  check_channels(in[0]);
  if (groups < 1 || mod(in[0].shape[1], groups) != 0)
    throw error("{} channels do not divide into {} groups", in[0].shape[1].str(), groups);
  if (in.size() > 1) check_per_channel("the weight", in[1], in[0]);
  if (in.size() > 2) check_per_channel("the bias", in[2], in[0]);
  return {in[0]};
}

std::vector<Ref> GroupNorm::decompose(RefSpan in) const {
  // A group's channels stay an axis of their own, along which weight and bias vary: one loop over rows.
  Shape shape = in[0].shape(), per_channel(shape.size() + 1, Dim(1));
  const Shape whole = shape;
  per_channel[1] = Dim(groups);
  per_channel[2] = floor_div(shape[1], groups);
  shape[1] = per_channel[2];
  shape.insert(shape.begin() + 1, per_channel[1]);
  Axes axes;
  for (std::size_t i = 2; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  Ref y = normalised(working(reshape(in[0], shape)), axes, eps);
  if (in.size() > 1) y = y * working(reshape(in[1], per_channel));
  if (in.size() > 2) y = y + working(reshape(in[2], per_channel));
  return {reshape(cast(in[0].dtype(), y), whole)};
}

std::vector<Type> RmsNorm::infer(TypeSpan in) const {
  check_trailing(in, rank);
  return {in[0]};
}

std::vector<Ref> RmsNorm::decompose(RefSpan in) const {
  const Ref x = working(in[0]);
  Ref y = x * rsqrt(mean(x * x, last_axes(x.rank(), rank), true) + eps);
  if (in.size() > 1) y = y * working(in[1]);
  return {cast(in[0].dtype(), y)};
}

std::vector<const OpInfo*> norm_ops() { return family(Norms{}); }

}  // namespace tenon
