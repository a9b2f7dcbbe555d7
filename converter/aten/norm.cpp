// Normalisations and softmax.
#include "ir/ops/norm.h"

#include <limits>

#include "base/error.h"
#include "compose/p_norm.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/reduce.h"
#include "ir/ops/softmax.h"
#include "ir/ops/working_dtype.h"

namespace tenon::converter {

namespace {

/// A vector of one value per channel where the model has none.
Ref or_full(Call& call, std::string_view argument, const Ref& x, double value) {
  if (const Ref given = call.optional_tensor(argument)) return cast(x.dtype(), given);
  return full({x.shape()[1]}, value, x.dtype(), call.build.insertion_point());
}

/// Per-channel values as x[N, C, ...] wants them.
Ref per_channel(const Ref& values, const Ref& x) {
  Shape shape(x.rank() - 1, Dim(1));
  shape[0] = x.shape()[1];
  return reshape(values, shape);
}

/// The dtype of statistics that an operator returns: that of the weights where they are wider.
DType statistics_dtype(Call& call, const Ref& x) {
  for (const std::string_view argument : {"weight", "bias"})
    if (call.has(argument)) return call.tensor(argument).dtype();
  return x.dtype();
}

/// The statistics of a batch and what is normalised with them.
struct BatchStatistics {
  Ref mean, variance, deviation;  // [C], in f32 for 16-bit floats; deviation is 1 / sqrt(variance + eps)
  Ref y;
};

BatchStatistics by_batch(Call& call, const Ref& given, double eps) {
  const Ref x = working(given);
  std::vector<std::int64_t> axes = {0};
  for (std::size_t i = 2; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  BatchStatistics s;
  s.mean = mean(x, axes);
  const Ref centred = x - per_channel(s.mean, x);
  s.variance = mean(centred * centred, axes);
  s.deviation = rsqrt(s.variance + eps);
  s.y = centred * per_channel(s.deviation, x);
  if (const Ref weight = call.optional_tensor("weight")) s.y = s.y * per_channel(cast(x.dtype(), weight), x);
  if (const Ref bias = call.optional_tensor("bias")) s.y = s.y + per_channel(cast(x.dtype(), bias), x);
  s.y = cast(given.dtype(), s.y);
  return s;
}

/// running = (1 - momentum) running + momentum now, in place.
void update_running(Call& call, std::string_view argument, const Ref& now, double momentum) {
  if (!call.has(argument)) return;
  const TensorPtr running = call.tensor_ptr(argument);
  const Ref before = call.build.read(running);
  call.build.write(running, before * (1 - momentum) + cast(before.dtype(), now) * momentum);
}

/// batch_norm in training mode.
BatchStatistics trained(Call& call, const Ref& x, double eps) {
  const BatchStatistics s = by_batch(call, x, eps);
  const double momentum = call.number("momentum", 0.1);
  update_running(call, "running_mean", s.mean, momentum);
  if (call.has("running_var")) {
    const Ref count = dim_value(numel(x.shape()), s.variance) / dim_value(x.shape()[1], s.variance);
    update_running(call, "running_var", s.variance * count / (count - 1.0), momentum);
  }
  return s;
}

Ref batch_normed(Call& call, const Ref& x, double eps) {
  const Ref mean = cast(x.dtype(), call.tensor("running_mean"));
  const Ref variance = cast(x.dtype(), call.tensor("running_var"));
  return apply(BatchNorm{.eps = eps},
               {x, mean, variance, or_full(call, "weight", x, 1), or_full(call, "bias", x, 0)});
}

Ref channelled(Call& call) {
  const Ref x = call.tensor("input");
  if (x.rank() < 2) throw unsupported("batch_norm of {}, which has no axis of channels", x.type().str());
  return x;
}

Results batch_norm(Call& call) {
  if (const Ref x = call.tensor("input"); x.rank() == 1 && x.shape()[0] == Dim(0)) {
    for (const Argument& a : call.arguments()) call.ignore({a.name});
    return x;
  }
  const Ref x = channelled(call);
  call.ignore({"momentum", "cudnn_enabled"});
  const double eps = call.number("eps", 1e-5);
  if (call.flag("training", false) || !call.has("running_mean")) return trained(call, x, eps).y;
  return batch_normed(call, x, eps);
}

/// With the statistics as results: (y, mean, 1 / deviation).
Results native_batch_norm(Call& call) {
  const Ref x = channelled(call);
  const double eps = call.number("eps", 1e-5);
  if (call.flag("training", call.name == "_batch_norm_with_update")) {
    const BatchStatistics s = trained(call, x, eps);
    const DType dtype = statistics_dtype(call, x);
    std::vector<Ref> out = {s.y, cast(dtype, s.mean), cast(dtype, s.deviation)};
    if (call.name == "_batch_norm_with_update")
      out.push_back(full({Dim(0)}, 0, DType::u8, call.build.insertion_point()));
    return out;
  }
  call.ignore({"momentum"});
  const Ref none = full({Dim(0)}, 0, x.dtype(), call.build.insertion_point());
  return std::vector{batch_normed(call, x, eps), none, none};
}

std::vector<Ref> with_affine(Call& call, const Ref& x) {
  std::vector<Ref> out = {x};
  const Ref weight = call.optional_tensor("weight");
  const Ref bias = call.optional_tensor("bias");
  if (weight) out.push_back(weight);
  if (bias && !weight) out.push_back(full(bias.shape(), 1, bias.dtype(), call.build.insertion_point()));
  if (bias) out.push_back(bias);
  return out;
}

Results layer_norm(Call& call) {
  call.ignore({"cudnn_enable"});
  const Ref x = call.tensor("input");
  const std::vector<Dim> normalized = call.sizes("normalized_shape");
  const auto rank = static_cast<std::int64_t>(normalized.size());
  if (normalized.size() > x.rank())
    throw error("normalized_shape has {} sizes, the input {}", rank, x.rank());
  for (std::size_t i = 0; i < normalized.size(); ++i) {
    const Dim& size = x.shape()[x.rank() - normalized.size() + i];
    const auto equal = known_equal(size, normalized[i]);
    if (!equal)
      throw unsupported("layer_norm over {} where normalized_shape says {}", size.str(), normalized[i].str())
          .hint("give the input size it depends on a number instead of a symbol");
    if (!*equal)
      throw error("normalized_shape is {} where the input has {}", normalized[i].str(), size.str());
  }
  return tenon::apply(LayerNorm{.rank = rank, .eps = call.number("eps", 1e-5)}, with_affine(call, x));
}

/// (y, mean, 1 / deviation), the last two as x with size 1 where they were taken over.
Results native_layer_norm(Call& call) {
  const Ref x = working(call.tensor("input"));
  std::vector<std::int64_t> axes;
  for (std::size_t i = x.rank() - call.sizes("normalized_shape").size(); i < x.rank(); ++i)
    axes.push_back(static_cast<std::int64_t>(i));
  const Ref variance = apply(Variance{.axes = axes, .correction = 0, .keepdim = true}, {x});
  const DType dtype = statistics_dtype(call, call.tensor("input"));
  return std::vector{layer_norm(call).fresh.at(0), cast(dtype, mean(x, axes, true)),
                     cast(dtype, rsqrt(variance + call.number("eps", 1e-5)))};
}

Results native_group_norm(Call& call) {
  const Ref x = call.tensor("input");
  const Dim samples = call.size("N"), groups = call.size("group");
  const Dim members = floor_div(call.size("C"), groups) * call.size("HxW");
  const double eps = call.number("eps", 1e-5);
  const Ref y = tenon::apply(GroupNorm{.groups = call.integer("group"), .eps = eps}, with_affine(call, x));
  const Ref rows = reshape(working(x), {samples, groups, members});
  const Ref variance = apply(Variance{.axes = {2}, .correction = 0}, {rows});
  return std::vector{y, cast(x.dtype(), mean(rows, {2})), cast(x.dtype(), rsqrt(variance + eps))};
}

Results group_norm(Call& call) {
  call.ignore({"cudnn_enabled"});
  const Ref x = call.tensor("input");
  return tenon::apply(GroupNorm{.groups = call.integer("num_groups"), .eps = call.number("eps", 1e-5)},
                      with_affine(call, x));
}

/// The means over the batch of each sample's statistics.
void update_running_of_instances(Call& call, const Ref& given) {
  if (!call.has("running_mean") && !call.has("running_var")) return;
  const Ref x = working(given);
  std::vector<std::int64_t> spatial;
  for (std::size_t i = 2; i < x.rank(); ++i) spatial.push_back(static_cast<std::int64_t>(i));
  const double momentum = call.number("momentum", 0.1);
  update_running(call, "running_mean", mean(mean(x, spatial), {0}), momentum);
  update_running(call, "running_var", mean(apply(Variance{.axes = spatial}, {x}), {0}), momentum);
}

/// Each channel of each sample is a group of its own.
Results instance_norm(Call& call) {
  if (!call.flag("use_input_stats", true)) {
    const Ref x = call.tensor("input");
    call.ignore({"momentum", "cudnn_enabled"});
    return apply(BatchNorm{.eps = call.number("eps", 1e-5)},
                 {x, call.tensor("running_mean"), call.tensor("running_var"), or_full(call, "weight", x, 1),
                  or_full(call, "bias", x, 0)});
  }
  call.ignore({"running_mean", "running_var", "momentum", "cudnn_enabled"});
  const Ref x = call.tensor("input");
  update_running_of_instances(call, x);
  const Dim& channels = x.shape()[1];
  if (!channels.is_known())
    throw unsupported("instance_norm over an unknown number of channels ({})", channels.str());
  return tenon::apply(GroupNorm{.groups = channels.value(), .eps = call.number("eps", 1e-5)},
                      with_affine(call, x));
}

Results rms_norm(Call& call) {
  const Ref x = call.tensor("input");
  const auto rank = static_cast<std::int64_t>(call.sizes("normalized_shape").size());
  const double epsilon = x.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                 : std::numeric_limits<float>::epsilon();
  const RmsNorm op{.rank = rank, .eps = call.number("eps", epsilon)};
  const Ref weight = call.optional_tensor("weight");
  return weight ? apply(op, {x, weight}) : apply(op, {x});
}

/// With 1 / root mean square as a result, of size 1 where it was taken over.
Results fused_rms_norm(Call& call) {
  const Ref y = rms_norm(call).fresh.at(0);
  const Ref x = working(call.tensor("input"));
  std::vector<std::int64_t> axes;
  for (std::size_t i = x.rank() - call.sizes("normalized_shape").size(); i < x.rank(); ++i)
    axes.push_back(static_cast<std::int64_t>(i));
  const double epsilon = x.dtype() == DType::f64 ? std::numeric_limits<double>::epsilon()
                                                 : std::numeric_limits<float>::epsilon();
  return std::vector{y, rsqrt(mean(x * x, axes, true) + call.number("eps", epsilon))};
}

/// The operand of a softmax in the dtype asked for.
Ref soft_operand(Call& call) {
  call.flag("half_to_float", false);
  const Ref x = call.tensor("self");
  return cast(call.dtype("dtype").value_or(is_float(x.dtype()) ? x.dtype() : DType::f32), x);
}
Results softmax(Call& call) {
  const Ref x = soft_operand(call);
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x.literal(1));
  return apply(Softmax{.axis = call.axis("dim", x.rank())}, {x});
}
Results log_softmax(Call& call) {
  const Ref x = soft_operand(call);
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x.literal(0));
  return apply(LogSoftmax{.axis = call.axis("dim", x.rank())}, {x});
}
/// A row of -inf alone gives 0.
Results safe_softmax(Call& call) {
  const Ref x = soft_operand(call);
  if (x.rank() == 0) return call.ignore({"dim"}), Results(x.literal(1));
  const std::int64_t axis = call.axis("dim", x.rank());
  const Ref lowest = x.literal(-std::numeric_limits<double>::infinity());
  return where(all(equal(x, lowest), {axis}, true), x.literal(0), apply(Softmax{.axis = axis}, {x}));
}
/// v scaled so that its norm over all axes but one is g.
Results weight_norm(Call& call) {
  const Ref v = call.tensor("v"), g = call.tensor("g");
  const std::int64_t kept = call.integer("dim", 0);
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(v.rank()); ++i)
    if (kept == -1 || i != kept) axes.push_back(i);
  return v * (g / p_norm(v, 2, axes, true));
}

/// With the norms as a result.
Results weight_norm_interface(Call& call) {
  const Ref v = call.tensor("v"), g = call.tensor("g");
  const std::int64_t kept = call.integer("dim", 0);
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(v.rank()); ++i)
    if (i != kept) axes.push_back(i);
  const Ref norms = p_norm(v, 2, axes, true);
  return std::vector{v * (g / norms), norms};
}

Results softmin(Call& call) {
  const Ref x = soft_operand(call);
  return apply(Softmax{.axis = call.axis("dim", x.rank())}, {-x});
}

Ref norm_operand(Call& call) {
  const Ref x = call.tensor(call.find("self") ? "self" : "A");
  return cast(call.dtype("dtype").value_or(is_float(x.dtype()) ? x.dtype() : DType::f32), x);
}
/// Halves are rounded once, also where they are asked for as the dtype.
Results norm_of_order(Call& call, double p) {
  const Ref x = norm_operand(call);
  return cast(x.dtype(), p_norm(working(x), p, call.axes("dim", x.rank()), call.flag("keepdim", false)));
}
Results vector_norm(Call& call) { return norm_of_order(call, call.number("ord", 2)); }
Results norm(Call& call) { return norm_of_order(call, call.number("p", 2)); }
Results frobenius_norm(Call& call) { return norm_of_order(call, 2); }

Results cosine_similarity(Call& call) {
  const std::array given = {call.value("x1"), call.value("x2")};
  const auto x = promoted(call.build, given, true);
  Shape shape = broadcast(x[0].shape(), x[1].shape());
  const bool scalar = shape.empty();
  if (scalar) shape = {Dim(1)};
  const std::int64_t axis = call.axis("dim", shape.size(), 1);
  const Ref a = expand(x[0], shape);
  const Ref b = expand(x[1], shape);
  const double eps = call.number("eps", 1e-8);
  const Clamp bounded{.min = eps};
  const Ref la = apply(bounded, {p_norm(a, 2, {axis}, true)});
  const Ref lb = apply(bounded, {p_norm(b, 2, {axis}, true)});
  const Ref y = sum((a / la) * (b / lb), {axis});
  return scalar ? reshape(y, {}) : y;
}

constexpr AtenEntry norm_table[] = {
    {"batch_norm", batch_norm},
    {"native_batch_norm", native_batch_norm},
    {"_native_batch_norm_legit", native_batch_norm},
    {"_native_batch_norm_legit_no_training", native_batch_norm},
    {"_batch_norm_with_update", native_batch_norm},
    {"native_layer_norm", native_layer_norm},
    {"native_group_norm", native_group_norm},
    {"_weight_norm", weight_norm, HalfPrecision::in_f32},
    {"_weight_norm_interface", weight_norm_interface, HalfPrecision::in_f32},
    {"_safe_softmax", safe_softmax},
    {"layer_norm", layer_norm},
    {"group_norm", group_norm},
    {"instance_norm", instance_norm},
    {"rms_norm", rms_norm},
    {"_fused_rms_norm", fused_rms_norm},
    {"softmax", softmax},
    {"_softmax", softmax},
    {"special_softmax", softmax},
    {"log_softmax", log_softmax},
    {"_log_softmax", log_softmax},
    {"special_log_softmax", log_softmax},
    {"softmin", softmin},
    {"linalg_vector_norm", vector_norm, HalfPrecision::in_f32},
    {"norm", norm, HalfPrecision::in_f32},
    {"frobenius_norm", frobenius_norm, HalfPrecision::in_f32},
    {"cosine_similarity", cosine_similarity, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> norm_entries() { return norm_table; }

}  // namespace tenon::converter
