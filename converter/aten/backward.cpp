// Backward operators, as exported training steps hold them: the derivative of the forward operator, which IR
// operators define (ir/gradient.h); by a formula where the results of the forward operator are given, or
// where a kink decides.
#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "converter/aten/mapping.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/gradient.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

/// The words of a list between blanks.
std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    out.emplace_back(text.substr(at, blank - at));
    at = blank + 1;
  }
  return out;
}

/// The first argument is the gradient of the result of `forward`, whose arguments have the same names but for
/// `renamed` ("theirs=ours"), and the results are the gradients of `of`. A `self` that is not given is zeros
/// of the sizes in `sizes`: there the forward operator is linear.
struct Derivative {
  std::string_view name, forward, of = "self", renamed = {}, sizes = {};
};

constexpr Derivative derivatives[] = {
    {"gelu_backward", "gelu"},
    {"silu_backward", "silu"},
    {"mish_backward", "mish"},
    {"softplus_backward", "softplus"},
    {"glu_backward", "glu"},
    {"mse_loss_backward", "mse_loss"},
    {"smooth_l1_loss_backward", "smooth_l1_loss"},
    {"huber_loss_backward", "huber_loss"},
    {"soft_margin_loss_backward", "soft_margin_loss"},
    {"multi_margin_loss_backward", "multi_margin_loss"},
    {"multilabel_margin_loss_backward", "multilabel_margin_loss"},
    {"avg_pool2d_backward", "avg_pool2d"},
    {"avg_pool3d_backward", "avg_pool3d"},
    {"max_pool2d_backward", "max_pool2d"},
    {"reflection_pad1d_backward", "reflection_pad1d"},
    {"reflection_pad2d_backward", "reflection_pad2d"},
    {"reflection_pad3d_backward", "reflection_pad3d"},
    {"replication_pad1d_backward", "replication_pad1d"},
    {"replication_pad2d_backward", "replication_pad2d"},
    {"replication_pad3d_backward", "replication_pad3d"},
    {"_pdist_backward", "_pdist_forward"},
    {"grid_sampler_2d_backward", "grid_sampler_2d", "input grid"},
    {"grid_sampler_3d_backward", "grid_sampler_3d", "input grid"},
    {"_scaled_dot_product_flash_attention_for_cpu_backward", "scaled_dot_product_attention",
     "query key value"},
    {"_weight_norm_interface_backward", "_weight_norm", "saved_v saved_g", "v=saved_v g=saved_g"},
    {"upsample_nearest1d_backward", "upsample_nearest1d", {}, {}, "input_size"},
    {"upsample_nearest2d_backward", "upsample_nearest2d", {}, {}, "input_size"},
    {"upsample_nearest3d_backward", "upsample_nearest3d", {}, {}, "input_size"},
    {"_upsample_nearest_exact1d_backward", "_upsample_nearest_exact1d", {}, {}, "input_size"},
    {"_upsample_nearest_exact2d_backward", "_upsample_nearest_exact2d", {}, {}, "input_size"},
    {"_upsample_nearest_exact3d_backward", "_upsample_nearest_exact3d", {}, {}, "input_size"},
    {"upsample_linear1d_backward", "upsample_linear1d", {}, {}, "input_size"},
    {"upsample_bilinear2d_backward", "upsample_bilinear2d", {}, {}, "input_size"},
    {"upsample_trilinear3d_backward", "upsample_trilinear3d", {}, {}, "input_size"},
    {"upsample_bicubic2d_backward", "upsample_bicubic2d", {}, {}, "input_size"},
    {"_upsample_bilinear2d_aa_backward", "_upsample_bilinear2d_aa", {}, {}, "input_size"},
    {"_upsample_bicubic2d_aa_backward", "_upsample_bicubic2d_aa", {}, {}, "input_size"},
    {"_upsample_lanczos2d_aa_backward", "_upsample_lanczos2d_aa", {}, {}, "input_size"},
    {"slice_backward", "slice", {}, {}, "input_sizes"},
    {"select_backward", "select", {}, {}, "input_sizes"},
    {"diagonal_backward", "diagonal", {}, {}, "input_sizes"},
    {"unfold_backward", "unfold", {}, "dimension=dim", "input_sizes"},
    {"index_select_backward", "index_select", {}, {}, "self_sizes"},
    {"trace_backward", "trace", {}, {}, "sizes"},
    {"_segment_reduce_backward", "segment_reduce", "data"},
};

Ref grad_of(Call& call) { return call.tensor(call.arguments().at(0).name); }

Ref value_of(Builder& build, const AbstractValue& d) {
  const auto* t = d.get<TensorPtr>();
  if (!t) throw unsupported("the derivative of {}", kind_name(d));
  return build.read(*t);
}

/// The gradients of `of` by the first result of an operator.
std::vector<Ref> differentiated(Call& call, std::string_view forward, std::vector<Argument> arguments,
                                const Ref& grad, std::span<const Ref> of) {
  Call inner(call.build, std::string(forward), call.overload, std::move(arguments));
  const AtenEntry* entry = find_entry(forward, "");
  const Results results = entry ? entry->handler(inner) : run_mapping(*find_mapping(forward, ""), inner);
  const Ref y = results.fresh.empty() ? value_of(call.build, results.values.at(0)) : results.fresh[0];
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  const Ref seed = expand(cast(y.dtype(), grad), y.shape());
  std::vector<Ref> grads = tenon::gradient(std::array{y}, std::array{seed}, of);
  for (std::size_t i = 0; i < grads.size(); ++i)
    if (!grads[i]) grads[i] = zeros_like(of[i]);
  return grads;
}

/// Those that `output_mask` asks for; None for the others.
Results masked(Call& call, std::vector<Ref> results) {
  const AbstractValue mask = call.value("output_mask");
  const auto* wanted = items_of(mask);
  std::vector<AbstractValue> out;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool given = wanted && i < wanted->size() && *wanted->at(i).get<bool>() && results[i];
    out.push_back(given ? AbstractValue(call.build.tensor(results[i])) : AbstractValue());
  }
  return Results::many(std::move(out));
}

Results derivative(Call& call) {
  const auto row = std::find_if(std::begin(derivatives), std::end(derivatives),
                                [&](const Derivative& d) { return d.name == call.name; });
  const Ref grad = grad_of(call);
  std::vector<Argument> arguments(call.arguments().begin() + 1, call.arguments().end());
  std::vector<Ref> of;
  if (row->sizes.empty()) {
    for (const std::string& name : words(row->of)) of.push_back(call.tensor(name));
  } else {
    of.push_back(full(call.sizes(row->sizes), 0, grad.dtype(), call.build.insertion_point()));
    arguments.push_back({"self", AbstractValue(call.build.tensor(of[0]))});
  }
  for (const std::string& pair : words(row->renamed)) {
    const std::size_t equals = pair.find('=');
    for (Argument& a : arguments)
      if (a.name == pair.substr(equals + 1)) a.name = pair.substr(0, equals);
  }
  std::vector<Ref> grads = differentiated(call, row->forward, std::move(arguments), grad, of);
  if (call.has("output_mask")) return masked(call, std::move(grads));
  return grads;
}

Results convolution_backward(Call& call) {
  const Ref grad = grad_of(call);
  const std::array of = {call.tensor("input"), call.tensor("weight")};
  std::vector<Argument> arguments(call.arguments().begin() + 1, call.arguments().end());
  std::vector<Ref> grads = differentiated(call, "convolution", std::move(arguments), grad, of);
  std::vector<std::int64_t> axes;
  const std::size_t channels = of[1].rank() == grad.rank() ? 1 : 0;
  for (std::size_t i = 0; i < grad.rank(); ++i)
    if (i != channels) axes.push_back(static_cast<std::int64_t>(i));
  grads.push_back(sum(grad, axes));
  return masked(call, std::move(grads));
}

Results adaptive_avg_pool_backward(Call& call) {
  const Ref grad = grad_of(call), x = call.tensor("self");
  std::vector<AbstractValue> size;
  for (std::size_t i = call.name.find("2d") != std::string::npos ? grad.rank() - 2 : grad.rank() - 3;
       i < grad.rank(); ++i)
    size.emplace_back(grad.shape()[i]);
  std::vector<Argument> arguments = {{"self", call.value("self")},
                                     {"output_size", AbstractValue(list_of(std::move(size)))}};
  const std::string_view forward =
      call.name.find("2d") != std::string::npos ? "adaptive_avg_pool2d" : "adaptive_avg_pool3d";
  return differentiated(call, forward, std::move(arguments), grad, std::array{x});
}

/// To the places of the maxima, which are given.
Results to_places(Call& call) {
  call.ignore({"kernel_size", "stride", "padding", "dilation", "ceil_mode", "output_size"});
  const Ref grad = grad_of(call), x = call.tensor("self"), places = call.tensor("indices");
  const std::size_t dims = call.name.find("3d") != std::string::npos ? 3 : 2, kept = x.rank() - dims;
  const auto flat = [&](const Ref& t) {
    const Shape& s = t.shape();
    Shape shape(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(kept));
    shape.push_back(numel(Shape(s.begin() + static_cast<std::ptrdiff_t>(kept), s.end())));
    return reshape(t, shape);
  };
  const Ref zeros = full(flat(x).shape(), 0, grad.dtype(), call.build.insertion_point());
  return reshape(scatter_sum(zeros, static_cast<std::int64_t>(kept), flat(places), flat(grad)), x.shape());
}

Results value_selecting(Call& call) {
  const Shape sizes = call.sizes("sizes");
  Ref grad = grad_of(call), places = call.tensor("indices");
  const Ref zeros = full(sizes, 0, grad.dtype(), call.build.insertion_point());
  if (sizes.empty()) return call.ignore({"dim", "keepdim"}), Results(grad);
  const std::int64_t axis = call.axis("dim", sizes.size());
  if (!call.flag("keepdim", false)) {
    grad = reshape(grad, with_axis(grad.shape(), axis));
    places = reshape(places, with_axis(places.shape(), axis));
  }
  return scatter_sum(zeros, axis, places, grad);
}

/// Of the rows of an embedding: the sum of the parts whose place is theirs; those of the padding do not
/// count.
Ref of_rows(Call& call, const Ref& places, const Ref& parts) {
  const Dim rows = call.size("num_weights");
  const Shape column = {places.shape()[0], Dim(1)};
  const Ref counted = not_equal(places, call.build.literal(call.size("padding_idx", Dim(-1)), DType::i64));
  Ref kept = where(reshape(counted, column), parts, 0);
  if (call.flag("scale_grad_by_freq", false)) {
    const Ref ones = full(places.shape(), 1, parts.dtype(), call.build.insertion_point());
    const Ref counts =
        index_add(full({rows}, 0, parts.dtype(), call.build.insertion_point()), 0, places, ones);
    kept = kept / reshape(index_select(counts, 0, places), column);
  }
  return index_add(full({rows, parts.shape().back()}, 0, parts.dtype(), call.build.insertion_point()), 0,
                   places, kept);
}

Results embedding_backward(Call& call) {
  const Ref grad = grad_of(call), places = cast(DType::i64, call.tensor("indices"));
  const Dim count = numel(places.shape());
  return of_rows(call, reshape(places, {count}), reshape(grad, {count, grad.shape().back()}));
}

enum BagMode : std::int64_t { add_up = 0, average_up = 1, maximum_of = 2 };

Results embedding_bag_backward(Call& call) {
  const Ref grad = grad_of(call), sizes = call.tensor("bag_size");
  const std::int64_t mode = call.integer("mode");
  const auto as_column = [](const Ref& x) { return reshape(x, {x.shape()[0], Dim(1)}); };
  if (mode == maximum_of) {
    call.ignore({"indices", "offset2bag", "per_sample_weights", "padding_idx", "scale_grad_by_freq"});
    const Ref filled = as_column(sizes > sizes.literal(0));
    const Ref zeros =
        full({call.size("num_weights"), grad.shape().back()}, 0, grad.dtype(), call.build.insertion_point());
    const Ref places = where(filled, cast(DType::i64, call.tensor("maximum_indices")), 0);
    return scatter_sum(zeros, 0, places, where(filled, grad, 0));
  }
  call.ignore({"maximum_indices"});
  if (call.flag("scale_grad_by_freq", false))  // PyTorch divides a row by the count of another
    throw unsupported("the gradient of embedding_bag with scale_grad_by_freq=True");
  const Ref bags = cast(DType::i64, call.tensor("offset2bag"));
  Ref parts = index_select(grad, 0, bags);
  if (mode == average_up) parts = parts / cast(grad.dtype(), as_column(index_select(sizes, 0, bags)));
  if (const Ref weights = call.optional_tensor("per_sample_weights")) parts = parts * as_column(weights);
  return of_rows(call, cast(DType::i64, call.tensor("indices")), parts);
}

Results embedding_bag_weights_backward(Call& call) {
  call.ignore({"offsets"});
  if (call.integer("mode") != add_up) throw error("weights of the samples in a bag that is not summed");
  const Ref places = cast(DType::i64, call.tensor("indices"));
  const Ref of_bag = index_select(grad_of(call), 0, cast(DType::i64, call.tensor("offset2bag")));
  const Ref products = sum(of_bag * index_select(call.tensor("weight"), 0, places), {1});
  return where(not_equal(places, places.literal(static_cast<double>(call.integer("padding_idx", -1)))),
               products, 0);
}

/// Gradient, and what the formula is of, in one dtype.
std::array<Ref, 2> operands(Call& call, std::string_view of) {
  const Ref grad = grad_of(call);
  return {grad, cast(grad.dtype(), call.tensor(of))};
}

Results sigmoid_backward(Call& call) {
  const auto [g, y] = operands(call, "output");
  return g * (1.0 - y) * y;
}
Results tanh_backward(Call& call) {
  const auto [g, y] = operands(call, "output");
  return g * (1.0 - y * y);
}
Results softmax_backward(Call& call) {
  const auto [g, y] = operands(call, "output");
  const DType dtype = call.dtype("input_dtype").value_or(g.dtype());
  if (y.rank() == 0) return call.ignore({"dim"}), Results(cast(dtype, g * 0.0));
  const Ref weighted = g * y;
  return cast(dtype, weighted - y * sum(weighted, {call.axis("dim", y.rank())}, true));
}
Results masked_softmax_backward(Call& call) {
  call.ignore({"mask_type"});
  const auto [g, y] = operands(call, "output");
  const Ref mask = call.tensor("mask");
  if (mask.shape() != y.shape()) throw unsupported("a mask of {} for {}", mask.type().str(), y.type().str());
  const Ref weighted = where(mask, y.literal(0), g * y), kept = where(mask, y.literal(0), y);
  return weighted - kept * sum(weighted, {call.axis("dim", y.rank(), -1)}, true);
}
Results log_softmax_backward(Call& call) {
  const auto [g, y] = operands(call, "output");
  const DType dtype = call.dtype("input_dtype").value_or(g.dtype());
  if (y.rank() == 0) return call.ignore({"dim"}), Results(cast(dtype, g * 0.0));
  return cast(dtype, g - exp(y) * sum(g, {call.axis("dim", y.rank())}, true));
}
Results threshold_backward(Call& call) {
  const auto [g, x] = operands(call, "self");
  return where(x <= x.literal(call.number("threshold")), g.literal(0), g);
}
Results hardtanh_backward(Call& call) {
  const auto [g, x] = operands(call, "self");
  const Ref inside =
      logical_and(x > x.literal(call.number("min_val", -1)), x < x.literal(call.number("max_val", 1)));
  return where(inside, g, 0);
}
Results hardsigmoid_backward(Call& call) {
  const auto [g, x] = operands(call, "self");
  return where(logical_and(x > x.literal(-3), x < x.literal(3)), g / 6.0, 0);
}
Results hardswish_backward(Call& call) {
  const auto [g, x] = operands(call, "self");
  return where(x <= x.literal(-3), g.literal(0), where(x < x.literal(3), g * (x / 3.0 + 0.5), g));
}
/// hardshrink and softshrink alike.
Results shrink_backward(Call& call) {
  const auto [g, x] = operands(call, "self");
  return where(abs(x) <= x.literal(call.number("lambd", 0.5)), g.literal(0), g);
}
Results leaky_relu_backward(Call& call) {
  call.ignore({"self_is_result"});
  const auto [g, x] = operands(call, "self");
  return where(x > x.literal(0), g, g * call.number("negative_slope", 0.01));
}
Results log_sigmoid_backward(Call& call) {
  call.ignore({"buffer"});
  const auto [g, x] = operands(call, "self");
  return g * sigmoid(-x);
}
Results rrelu_backward(Call& call) {
  call.ignore({"self_is_result"});
  const auto [g, x] = operands(call, "self");
  const double lower = call.number("lower"), upper = call.number("upper");
  const bool drawn = call.flag("training", false) && upper - lower > 1e-6;
  const Ref noise = call.tensor("noise");
  if (drawn) return g * cast(g.dtype(), noise);
  return where(x > x.literal(0), g, g * ((lower + upper) / 2));
}
Results elu_backward(Call& call) {
  const auto [g, x] = operands(call, "self_or_result");
  const double slope = call.number("alpha") * call.number("scale"), input_scale = call.number("input_scale");
  const Ref below = call.flag("is_result", false) ? g * input_scale * (x + slope)
                                                  : g * (input_scale * slope) * exp(x * input_scale);
  return where(x <= x.literal(0), below, g * call.number("scale"));
}
Results logit_backward(Call& call) {
  const auto [g, x] = operands(call, "self");
  const Ref inner = g / (x * (1.0 - x));
  const double eps = call.number("eps", 0);
  const Ref outside = g.literal(call.has("eps") ? 0 : std::numeric_limits<double>::quiet_NaN());
  return where(logical_or(x<x.literal(eps), x> x.literal(1 - eps)), outside, inner);
}
Results dropout_backward(Call& call) {
  const Ref given = grad_of(call), g = is_float(given.dtype()) ? given : cast(DType::f32, given);
  return g * cast(g.dtype(), call.tensor("mask")) * call.number("scale");
}
Results binary_cross_entropy_backward(Call& call) {
  const auto [g, x] = operands(call, "self");
  const Ref target = cast(g.dtype(), call.tensor("target"));
  Ref out = g * (x - target) / maximum((1.0 - x) * x, x.literal(1e-12));
  if (const Ref weight = call.optional_tensor("weight")) out = out * cast(g.dtype(), weight);
  constexpr std::int64_t average = 1;
  return call.integer("reduction", average) == average ? out / dim_value(numel(x.shape()), x) : out;
}

constexpr AtenEntry formulas[] = {
    {"convolution_backward", convolution_backward},
    {"_adaptive_avg_pool2d_backward", adaptive_avg_pool_backward, HalfPrecision::in_f32},
    {"_adaptive_avg_pool3d_backward", adaptive_avg_pool_backward, HalfPrecision::in_f32},
    {"max_pool2d_with_indices_backward", to_places},
    {"max_pool3d_with_indices_backward", to_places},
    {"adaptive_max_pool2d_backward", to_places},
    {"adaptive_max_pool3d_backward", to_places},
    {"fractional_max_pool2d_backward", to_places},
    {"fractional_max_pool3d_backward", to_places},
    {"value_selecting_reduction_backward", value_selecting},
    {"embedding_dense_backward", embedding_backward, HalfPrecision::in_f32},
    {"_embedding_bag_dense_backward", embedding_bag_backward, HalfPrecision::in_f32},
    {"_embedding_bag_per_sample_weights_backward", embedding_bag_weights_backward, HalfPrecision::in_f32},
    {"_masked_softmax_backward", masked_softmax_backward, HalfPrecision::in_f32},
    {"sigmoid_backward", sigmoid_backward, HalfPrecision::in_f32},
    {"tanh_backward", tanh_backward, HalfPrecision::in_f32},
    {"_softmax_backward_data", softmax_backward, HalfPrecision::in_f32},
    {"_log_softmax_backward_data", log_softmax_backward, HalfPrecision::in_f32},
    {"threshold_backward", threshold_backward},
    {"hardtanh_backward", hardtanh_backward},
    {"hardsigmoid_backward", hardsigmoid_backward, HalfPrecision::in_f32},
    {"hardswish_backward", hardswish_backward, HalfPrecision::in_f32},
    {"hardshrink_backward", shrink_backward},
    {"softshrink_backward", shrink_backward},
    {"leaky_relu_backward", leaky_relu_backward, HalfPrecision::in_f32},
    {"log_sigmoid_backward", log_sigmoid_backward, HalfPrecision::in_f32},
    {"rrelu_with_noise_backward", rrelu_backward, HalfPrecision::in_f32},
    {"elu_backward", elu_backward, HalfPrecision::in_f32},
    {"logit_backward", logit_backward, HalfPrecision::in_f32},
    {"native_dropout_backward", dropout_backward, HalfPrecision::in_f32},
    {"binary_cross_entropy_backward", binary_cross_entropy_backward, HalfPrecision::in_f32},
};

std::vector<AtenEntry> all_entries() {
  std::vector<AtenEntry> all(std::begin(formulas), std::end(formulas));
  for (const Derivative& d : derivatives) {
    const bool has_mask = d.name.starts_with("grid_sampler");  // whose results may be None
    all.push_back({d.name, derivative, has_mask ? HalfPrecision::as_they_are : HalfPrecision::in_f32});
  }
  return all;
}

}  // namespace

std::span<const AtenEntry> backward_entries() {
  static const std::vector<AtenEntry> all = all_entries();
  return all;
}

}  // namespace tenon::converter
