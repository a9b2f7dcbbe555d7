// Backward operators of the norms, of which the forward ones left mean and 1 / deviation.
#include "base/error.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"
#include "ir/ops/working_dtype.h"

namespace tenon::converter {

namespace {

std::vector<std::int64_t> range(std::size_t begin, std::size_t end) {
  std::vector<std::int64_t> axes;
  for (std::size_t i = begin; i < end; ++i) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

/// Values of shape [C] or of a whole sample against x, in x's dtype.
Ref like(const Ref& values, const Ref& x, Shape shape) {
  return cast(x.dtype(), reshape(values, std::move(shape)));
}

/// The gradient of what was normalised over axes, by that of y = (x - mean) / deviation.
Ref of_normalised(const Ref& grad, const Ref& y, const Ref& rstd, const std::vector<std::int64_t>& axes,
                  bool centred) {
  const Ref along = grad - y * mean(grad * y, axes, true);
  return rstd * (centred ? along - mean(grad, axes, true) : along);
}

/// Those that `output_mask` asks for, each in its dtype.
Results masked(Call& call, const std::vector<Ref>& results, const std::vector<DType>& dtypes) {
  const AbstractValue mask = call.value("output_mask");
  std::vector<AbstractValue> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool wanted = *items_of(mask)->at(i).get<bool>() && results[i];
    out.push_back(wanted ? AbstractValue(call.build.tensor(cast(dtypes[i], results[i]))) : AbstractValue());
  }
  return Results::many(std::move(out));
}

DType weight_dtype(Call& call, const Ref& x) {
  const Ref weight = call.optional_tensor("weight");
  return weight ? weight.dtype() : x.dtype();
}

/// Of layer_norm, and rms_norm where there is no mean.
Results layer_norm_backward(Call& call) {
  call.ignore({"bias"});
  const Ref given = call.tensor("input"), x = working(given);
  const Ref grad = cast(x.dtype(), call.tensor("grad_out")), rstd = cast(x.dtype(), call.tensor("rstd"));
  const std::size_t first = x.rank() - call.sizes("normalized_shape").size();
  const bool centred = call.has("mean");
  const Ref y = (centred ? x - cast(x.dtype(), call.tensor("mean")) : x) * rstd;
  Ref scaled = grad;
  if (const Ref weight = call.optional_tensor("weight")) scaled = grad * cast(x.dtype(), weight);
  std::vector<Ref> grads = {of_normalised(scaled, y, rstd, range(first, x.rank()), centred)};
  const auto leading = range(0, first);
  const auto summed = [&](const Ref& t) { return leading.empty() ? t : sum(t, leading); };
  grads.push_back(call.has("weight") ? summed(grad * y) : Ref());
  if (centred) grads.push_back(summed(grad));
  const DType of_weight = weight_dtype(call, given);
  return masked(call, grads, {given.dtype(), of_weight, of_weight});
}

Results group_norm_backward(Call& call) {
  const Ref given = call.tensor("input"), whole = working(given);
  const Dim samples = call.size("N"), channels = call.size("C"), places = call.size("HxW");
  const Dim groups = call.size("group"), members = floor_div(channels, groups);
  const Shape shape = {samples, groups, members, places};
  const Ref x = reshape(whole, shape), grad = reshape(cast(x.dtype(), call.tensor("grad_out")), shape);
  const auto per_group = [&](std::string_view name) {
    return like(call.tensor(name), x, {samples, groups, Dim(1), Dim(1)});
  };
  const Ref rstd = per_group("rstd"), y = (x - per_group("mean")) * rstd;
  Ref scaled = grad;
  if (const Ref weight = call.optional_tensor("weight"))
    scaled = grad * like(weight, x, {groups, members, Dim(1)});
  const auto per_channel = [&](const Ref& t) { return reshape(sum(t, {0, 3}), {channels}); };
  const std::vector<Ref> grads = {reshape(of_normalised(scaled, y, rstd, {2, 3}, true), given.shape()),
                                  per_channel(grad * y), per_channel(grad)};
  const DType of_weight = weight_dtype(call, given);
  return masked(call, grads, {given.dtype(), of_weight, of_weight});
}

/// With the statistics of the batch, or in eval mode the running ones.
Results batch_norm_backward(Call& call) {
  call.ignore({"reserve", "save_mean", "save_invstd", "save_var", "running_mean", "running_var"});
  const Ref given = call.tensor("input"), x = working(given), grad = cast(x.dtype(), call.tensor("grad_out"));
  Shape shape(x.rank() - 1, Dim(1));
  shape[0] = x.shape()[1];
  std::vector<std::int64_t> axes = {0};
  for (const std::int64_t axis : range(2, x.rank())) axes.push_back(axis);
  const bool update = call.name == "batch_norm_backward";
  const bool train = call.flag(update ? "update" : "train", false);
  const double eps = call.number("eps", 1e-5);
  const auto along = [&](std::string_view name) { return like(call.tensor(name), x, shape); };
  const Ref center = along(train ? "save_mean" : "running_mean");
  const Ref rstd = train ? along(update ? "save_var" : "save_invstd") : rsqrt(along("running_var") + eps);
  const Ref y = (x - center) * rstd;
  Ref scaled = grad;
  if (const Ref weight = call.optional_tensor("weight")) scaled = grad * like(weight, x, shape);
  const std::vector<Ref> grads = {train ? of_normalised(scaled, y, rstd, axes, true) : scaled * rstd,
                                  sum(grad * y, axes), sum(grad, axes)};
  const DType of_weight = weight_dtype(call, given);
  return masked(call, grads, {given.dtype(), of_weight, of_weight});
}

constexpr AtenEntry backward_norm_table[] = {
    {"native_layer_norm_backward", layer_norm_backward}, {"_fused_rms_norm_backward", layer_norm_backward},
    {"native_group_norm_backward", group_norm_backward}, {"native_batch_norm_backward", batch_norm_backward},
    {"batch_norm_backward", batch_norm_backward},
};

}  // namespace

std::span<const AtenEntry> backward_norm_entries() { return backward_norm_table; }

}  // namespace tenon::converter
