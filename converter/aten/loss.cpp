// Losses.
#include <numbers>

#include "base/error.h"
#include "compose/p_norm.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/axis.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/reduce.h"
#include "ir/ops/softmax.h"

namespace tenon::converter {

namespace {

std::vector<std::int64_t> all_axes(const Ref& x) {
  std::vector<std::int64_t> axes(x.rank());
  for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = static_cast<std::int64_t>(i);
  return axes;
}

/// PyTorch's numbers for the argument `reduction`.
enum Reduction : std::int64_t { none = 0, average = 1, total = 2 };

Reduction reduction_of(Call& call) { return static_cast<Reduction>(call.integer("reduction", average)); }

Ref reduced(Call& call, const Ref& losses) {
  switch (reduction_of(call)) {
    case none: return losses;
    case average: return mean(losses, all_axes(losses));
    case total: return sum(losses, all_axes(losses));
  }
  throw error("reduction is {}", call.integer("reduction"));
}

std::vector<Ref> input_and_target(Call& call) {
  const std::array given = {call.value(call.find("self") ? "self" : "input"), call.value("target")};
  return promoted(call.build, given);
}

Results mse_loss(Call& call) {
  const auto x = input_and_target(call);
  const Ref d = x[0] - x[1];
  return reduced(call, d * d);
}

Results l1_loss(Call& call) {
  const auto x = input_and_target(call);
  return reduced(call, abs(x[0] - x[1]));
}

Results smooth_l1_loss(Call& call) {
  const auto x = input_and_target(call);
  const double beta = call.number("beta", 1);
  const Ref d = abs(x[0] - x[1]);
  if (beta == 0) return reduced(call, d);
  return reduced(call, where(d < d.literal(beta), d * d * 0.5 / beta, d - 0.5 * beta));
}

Results huber_loss(Call& call) {
  const auto x = input_and_target(call);
  const double delta = call.number("delta", 1);
  const Ref d = abs(x[0] - x[1]);
  const Ref near = minimum(d, d.literal(delta));  // of the square; what is beyond it grows linearly
  return reduced(call, near * (d - near * 0.5));
}

Results soft_margin_loss(Call& call) {
  const auto x = input_and_target(call);
  return reduced(call, log1p(exp(-x[1] * x[0])));
}

Ref not_negative(const Ref& x) { return apply(Clamp{.min = 0}, {x}); }

Results hinge_embedding_loss(Call& call) {
  const auto x = input_and_target(call);
  const Ref beyond = not_negative(call.number("margin", 1) - x[0]);
  const Ref zero = x[0].literal(0);
  const Ref negative = where(not_equal(x[1], x[1].literal(1)), beyond, zero);
  const Ref positive = where(not_equal(x[1], x[1].literal(-1)), x[0], zero);
  return reduced(call, negative + positive);
}

Results margin_ranking_loss(Call& call) {
  const std::array given = {call.value("input1"), call.value("input2"), call.value("target")};
  const auto x = promoted(call.build, given);
  return reduced(call, not_negative(in_floats(-x[2] * (x[0] - x[1])) + call.number("margin", 0)));
}

Ref x_log_y(const Ref& x, const Ref& y) {
  return where(apply(IsNan{}, {y}), y, where(equal(x, x.literal(0)), x.literal(0), x * log(y)));
}

Results kl_div(Call& call) {
  const auto x = input_and_target(call);
  if (call.flag("log_target", false)) return reduced(call, exp(x[1]) * (x[1] - x[0]));
  return reduced(call, x_log_y(x[1], x[1]) - x[1] * x[0]);
}

Results poisson_nll_loss(Call& call) {
  const std::array given = {call.value("input"), call.value("target")};
  const auto x = promoted(call.build, given, true);
  Ref loss = call.flag("log_input", true) ? exp(x[0]) - x[1] * x[0]
                                          : x[0] - x[1] * log(x[0] + call.number("eps", 1e-8));
  call.ignore({"eps"});
  if (call.flag("full", false)) {
    const Ref stirling = x[1] * log(x[1]) - x[1] + log(x[1] * (2 * std::numbers::pi)) * 0.5;
    loss = loss + where(x[1] <= x[1].literal(1), x[1].literal(0), stirling);
  }
  return reduced(call, loss);
}

Ref weighted(Call& call, const Ref& losses) {
  const Ref weight = call.optional_tensor("weight");
  return weight ? losses * cast(losses.dtype(), weight) : losses;
}

Results binary_cross_entropy(Call& call) {
  const auto x = input_and_target(call);
  const Clamp at_least{.min = -100};
  const Ref of_zero = apply(at_least, {log1p(-x[0])}), of_one = apply(at_least, {log(x[0])});
  return reduced(call, weighted(call, (x[1] - 1.0) * of_zero - x[1] * of_one));
}

Results binary_cross_entropy_with_logits(Call& call) {
  const auto x = input_and_target(call);
  Ref log_sigmoid = apply(LogSigmoid{}, {x[0]});
  if (const Ref positive = call.optional_tensor("pos_weight"))
    log_sigmoid = ((cast(x[0].dtype(), positive) - 1.0) * x[1] + 1.0) * log_sigmoid;
  return reduced(call, weighted(call, (1.0 - x[1]) * x[0] - log_sigmoid));
}

/// The target classes of x[N, C, ...] or x[C], the axis of classes, and which places count.
struct Classes {
  std::int64_t axis;
  Ref target;   // with 0 where it is ignored
  Ref counted;  // bool

  Classes(Call& call, const Ref& x, const Ref& given) : axis(x.rank() == 1 ? 0 : 1) {
    const Ref classes = cast(DType::i64, given);
    counted = not_equal(classes, call.build.literal(Dim(call.integer("ignore_index", -100)), DType::i64));
    target = where(counted, classes, 0);
  }

  /// x of each place's class.
  Ref at(const Ref& x) const {
    return reshape(gather(x, axis, reshape(target, with_axis(target.shape(), axis))), target.shape());
  }

  /// What each place weighs: 0 where it does not count.
  Ref weights(Call& call, const Ref& x) const {
    const Ref given = call.optional_tensor("weight");
    const Ref all = given ? index_select(cast(x.dtype(), given), 0, target)
                          : full(target.shape(), 1, x.dtype(), call.build.insertion_point());
    return where(counted, all, 0);
  }
};

Ref average_by_weight(const Ref& losses, const Ref& weights) {
  return sum(losses, all_axes(losses)) / sum(weights, all_axes(weights));
}

Ref negative_log_likelihood(Call& call, const Ref& x, const Classes& classes) {
  const Ref weights = classes.weights(call, x);
  const Ref losses = where(classes.counted, -classes.at(x) * weights, 0);
  return reduction_of(call) == average ? average_by_weight(losses, weights) : reduced(call, losses);
}

Results nll_loss(Call& call) {
  const Ref x = call.tensor("self");
  return negative_log_likelihood(call, x, Classes(call, x, call.tensor("target")));
}

/// With the sum of the weights as a result; 0 where nothing is reduced.
Results nll_loss_forward(Call& call) {
  const Ref x = call.tensor("self");
  const Classes classes(call, x, call.tensor("target"));
  const Ref loss = negative_log_likelihood(call, x, classes);
  const Ref weights = classes.weights(call, x);
  return std::vector{loss, reduction_of(call) == none ? x.literal(0) : sum(weights, all_axes(weights))};
}

/// Weights of the classes, along their axis of x.
Ref along_classes(const Ref& weight, const Ref& x, std::int64_t axis) {
  Shape shape(x.rank(), Dim(1));
  shape[static_cast<std::size_t>(axis)] = x.shape()[static_cast<std::size_t>(axis)];
  return reshape(cast(x.dtype(), weight), shape);
}

/// Against a distribution over the classes.
Results cross_entropy_of_distribution(Call& call, const Ref& x, std::int64_t axis, double smoothing) {
  call.ignore({"ignore_index"});
  const Ref log_p = apply(LogSoftmax{.axis = axis}, {x});
  const Dim classes = x.shape()[static_cast<std::size_t>(axis)];
  Ref target = cast(x.dtype(), call.tensor("target"));
  if (smoothing > 0) target = target * (1 - smoothing) + target.literal(smoothing) / dim_value(classes, x);
  Ref losses = -log_p * target;
  if (const Ref weight = call.optional_tensor("weight")) losses = losses * along_classes(weight, x, axis);
  losses = sum(losses, {axis});
  if (reduction_of(call) != average) return reduced(call, losses);
  return sum(losses, all_axes(losses)) / dim_value(numel(losses.shape()), x);
}

Results cross_entropy_loss(Call& call) {
  const Ref x = call.tensor("self");
  const Ref target = call.tensor("target");
  const double smoothing = call.number("label_smoothing", 0);
  const std::int64_t axis = x.rank() == 1 ? 0 : 1;
  if (target.shape() == x.shape()) return cross_entropy_of_distribution(call, x, axis, smoothing);
  const Ref log_p = apply(LogSoftmax{.axis = axis}, {x});
  const Classes classes(call, x, target);
  const Ref loss = negative_log_likelihood(call, log_p, classes);
  if (smoothing == 0) return loss;
  const Ref weight = call.optional_tensor("weight");
  Ref spread = -sum(weight ? log_p * along_classes(weight, x, axis) : log_p, {axis});
  spread = where(classes.counted, spread, 0);
  spread = reduction_of(call) == average ? average_by_weight(spread, classes.weights(call, x))
                                         : reduced(call, spread);
  return loss * (1 - smoothing) +
         spread * smoothing / dim_value(x.shape()[static_cast<std::size_t>(axis)], x);
}

/// The two of torch.nn.functional.linear_cross_entropy. Its chunks are there to save memory.
Results linear_cross_entropy(Call& call) {
  call.ignore({"batch_chunk_size", "acc_policy", "acc_dtype", "allow_retain_graph"});
  for (const auto* grad : {"compute_input_grad", "compute_linear_weight_grad", "compute_linear_bias_grad"})
    if (call.flag(grad, false))
      throw unsupported("gradients beside the loss").hint("export the model for inference");
  const std::string word = call.word("reduction", "none");
  const Reduction reduction = word == "mean" ? average : word == "sum" ? total : none;
  const Ref weight = call.tensor("linear_weight"), bias = call.optional_tensor("linear_bias");
  const Ref x = cast(weight.dtype(), call.tensor("input"));
  Call inner(call.build, "cross_entropy_loss", "",
             {{"self", call.build.tensor(bias ? linear(x, weight, bias) : linear(x, weight))},
              {"target", call.value("target")},
              {"weight", call.has("weight") ? call.value("weight") : AbstractValue()},
              {"reduction", Dim(reduction)},
              {"ignore_index", call.size("ignore_index")},
              {"label_smoothing", call.number("label_smoothing", 0)}});
  const Ref loss = cross_entropy_loss(inner).fresh.at(0);
  if (!call.find("reduction")) return loss;
  const auto none_of = [&](const Shape& shape) { return full(shape, 0, x.dtype(), x.insertion_point()); };
  return std::vector{loss, none_of({Dim(0), Dim(0)}), none_of({Dim(0), Dim(0)}), none_of({Dim(0)})};
}

/// [N, C] of a vector too.
Ref as_rows(const Ref& x) {
  if (x.rank() == 2) return x;
  return reshape(x, {Dim(1), numel(x.shape())});
}

Results multi_margin_loss(Call& call) {
  const Ref x = as_rows(call.tensor("self"));
  const Ref given = call.tensor("target");
  const Ref target = reshape(given, {x.shape()[0], Dim(1)});
  Ref beyond = not_negative(call.number("margin", 1) - gather(x, 1, target) + x);
  if (call.integer("p", 1) == 2) beyond = beyond * beyond;
  if (const Ref weight = call.optional_tensor("weight"))
    beyond = beyond * index_select(cast(x.dtype(), weight), 0, target);
  const Ref others = not_equal(iota(x.shape()[1], call.build.insertion_point()), target);
  const Ref losses = sum(where(others, beyond, 0), {1}) / dim_value(x.shape()[1], x);
  return reduced(call, reshape(losses, given.shape()));
}

/// The classes of a row stand in front of its first negative target.
Results multilabel_margin_loss(Call& call) {
  const Ref given = call.tensor("self");
  const Ref x = as_rows(given);
  const Ref target = as_rows(call.tensor("target"));
  const auto s = x.shape();
  const Ref ended = cumsum(cast(DType::i64, target < target.literal(0)), 1);
  const Ref valid = equal(ended, ended.literal(0));
  const Ref places = where(valid, target, 0);
  const Ref column = reshape(places, {s[0], s[1], Dim(1)}),
            valid_column = reshape(valid, {s[0], s[1], Dim(1)});
  const Ref is_class =
      any(logical_and(equal(column, iota(s[1], call.build.insertion_point())), valid_column), {1});
  const Ref of_class = reshape(gather(x, 1, places), {s[0], s[1], Dim(1)});
  const Ref beyond = not_negative(1.0 - (of_class - reshape(x, {s[0], Dim(1), s[1]})));
  const Ref counted = logical_and(valid_column, reshape(logical_not(is_class), {s[0], Dim(1), s[1]}));
  const Ref losses = sum(where(counted, beyond, 0), {1, 2}) / dim_value(s[1], x);
  return reduced(call, given.rank() < 2 ? reshape(losses, {}) : losses);
}

Ref distance(const Ref& a, const Ref& b, double p, double eps) {
  const Ref d = in_floats(a - b) + eps;
  return p_norm(d, p, {static_cast<std::int64_t>(d.rank()) - 1}, false);
}

Results triplet_margin_loss(Call& call) {
  const std::array given = {call.value("anchor"), call.value("positive"), call.value("negative")};
  const auto x = promoted(call.build, given);
  const double p = call.number("p", 2), eps = call.number("eps", 1e-6);
  const Ref near = distance(x[0], x[1], p, eps);
  Ref far = distance(x[0], x[2], p, eps);
  if (call.flag("swap", false)) far = minimum(far, distance(x[1], x[2], p, eps));
  return reduced(call, not_negative(near - far + call.number("margin", 1)));
}

Results cosine_embedding_loss(Call& call) {
  const std::array given = {call.value("input1"), call.value("input2")};
  const auto x = promoted(call.build, given, true);
  const Ref target = call.tensor("target");
  const std::vector<std::int64_t> axis = {static_cast<std::int64_t>(target.rank())};
  constexpr double eps = 1e-12;
  const Ref lengths = (sum(x[0] * x[0], axis) + eps) * (sum(x[1] * x[1], axis) + eps);
  const Ref cosine = sum(x[0] * x[1], axis) / sqrt(lengths);
  const Ref zero = cosine.literal(0);
  const Ref alike = where(equal(target, target.literal(1)), 1.0 - cosine, zero);
  const Ref unlike =
      where(equal(target, target.literal(-1)), not_negative(cosine - call.number("margin", 0)), zero);
  return reduced(call, alike + unlike);
}

/// With what the backward operator reads: exp(-|x|).
Results log_sigmoid_forward(Call& call) {
  const Ref x = call.tensor("self");
  return std::vector{apply(LogSigmoid{}, {x}), exp(-abs(x))};
}

constexpr AtenEntry loss_table[] = {
    {"mse_loss", mse_loss, HalfPrecision::in_f32},
    {"l1_loss", l1_loss, HalfPrecision::in_f32},
    {"smooth_l1_loss", smooth_l1_loss, HalfPrecision::in_f32},
    {"huber_loss", huber_loss, HalfPrecision::in_f32},
    {"soft_margin_loss", soft_margin_loss},
    {"hinge_embedding_loss", hinge_embedding_loss, HalfPrecision::in_f32},
    {"margin_ranking_loss", margin_ranking_loss, HalfPrecision::in_f32},
    {"kl_div", kl_div, HalfPrecision::in_f32},
    {"poisson_nll_loss", poisson_nll_loss, HalfPrecision::in_f32},
    {"binary_cross_entropy", binary_cross_entropy, HalfPrecision::in_f32},
    {"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits, HalfPrecision::in_f32},
    {"nll_loss", nll_loss, HalfPrecision::in_f32},
    {"nll_loss2d", nll_loss, HalfPrecision::in_f32},
    {"nll_loss_nd", nll_loss, HalfPrecision::in_f32},
    {"nll_loss_forward", nll_loss_forward, HalfPrecision::in_f32},
    {"nll_loss2d_forward", nll_loss_forward, HalfPrecision::in_f32},
    {"log_sigmoid_forward", log_sigmoid_forward, HalfPrecision::in_f32},
    {"cross_entropy_loss", cross_entropy_loss, HalfPrecision::in_f32},
    {"_linear_cross_entropy_batch_chunked", linear_cross_entropy, HalfPrecision::in_f32},
    {"_linear_cross_entropy_batch_chunked_no_reduction", linear_cross_entropy, HalfPrecision::in_f32},
    {"multi_margin_loss", multi_margin_loss, HalfPrecision::in_f32},
    {"multilabel_margin_loss", multilabel_margin_loss, HalfPrecision::in_f32},
    {"triplet_margin_loss", triplet_margin_loss, HalfPrecision::in_f32},
    {"cosine_embedding_loss", cosine_embedding_loss, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> loss_entries() { return loss_table; }

}  // namespace tenon::converter
