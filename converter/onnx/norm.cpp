// Normalisations.
#include "ir/ops/norm.h"

#include <array>

#include "base/error.h"
#include "converter/onnx/table.h"
#include "converter/onnx/windows.h"
#include "ir/ops/functions.h"
#include "ir/ops/pool.h"
#include "ir/ops/reduce.h"

namespace tenon::converter::onnx {

namespace {

Axes axes_but_channels(const Ref& x) {
  Axes axes;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != 1) axes.push_back(static_cast<std::int64_t>(i));
  return axes;
}

/// With the statistics of the batch, and the running ones moved towards these.
Operands batch_norm_training(const Call& call) {
  const Ref x = call.tensor(0), old_mean = call.tensor(3), old_variance = call.tensor(4);
  const double momentum = call.number("momentum", 0.9);
  const Ref average = mean(x, axes_but_channels(x));
  const Ref variance = apply(Variance{.axes = axes_but_channels(x), .correction = 0}, {x});
  const BatchNorm op{.eps = call.number("epsilon", 1e-5)};
  return {apply(op, {x, average, variance, call.tensor(1), call.tensor(2)}),
          old_mean * momentum + average * (1 - momentum),
          old_variance * momentum + variance * (1 - momentum)};
}

Operands batch_norm(Call& call) {
  const bool trains =
      call.version < 7 ? call.integer("is_test", 0) == 0 : call.integer("training_mode", 0) != 0;
  if (trains && call.version >= 14) return batch_norm_training(call);
  if (trains || (call.version < 14 && call.wants(1)))
    throw unsupported("batch normalisation in training mode").hint("export the model in eval mode");
  const Ref x = call.tensor(0);
  const auto with = [&](std::size_t i) { return cast(x.dtype(), call.tensor(i)); };
  const double eps = call.number("epsilon", 1e-5);
  if (call.integer("spatial", 1) == 0)  // numbers for every element of a sample
    return {(x - with(3)) / sqrt(with(4) + eps) * with(1) + with(2)};
  return {apply(BatchNorm{.eps = eps}, {x, with(3), with(4), with(1), with(2)})};
}

Operands instance_norm(Call& call) {
  const Ref x = call.tensor(0);
  if (x.rank() < 3 || !x.shape()[1].is_known()) throw unsupported("a tensor {}", x.type().str());
  const GroupNorm op{.groups = x.shape()[1].value(), .eps = call.number("epsilon", 1e-5)};
  return {apply(op, {x, call.tensor(1), call.tensor(2)})};
}

/// Until operator set 20 scale and bias are those of the groups.
Operands group_norm(Call& call) {
  const Ref x = call.tensor(0), scale = call.tensor(1), bias = call.tensor(2);
  const GroupNorm op{.groups = call.integer("num_groups"), .eps = call.number("epsilon", 1e-5)};
  if (call.version >= 21) return {apply(op, {x, scale, bias})};
  const Dim groups(op.groups), each = floor_div(x.shape()[1], groups);
  const auto repeated = [&](const Ref& v) {
    return reshape(expand(reshape(v, {groups, Dim(1)}), {groups, each}), {groups * each});
  };
  return {apply(op, {x, repeated(scale), repeated(bias)})};
}

Axes last_axes(const Ref& x, std::int64_t first) {
  Axes axes;
  for (auto i = first; i < static_cast<std::int64_t>(x.rank()); ++i) axes.push_back(i);
  return axes;
}

bool has_shape_of(const Ref& v, const Ref& x, std::int64_t first) {
  return !v || v.shape() == Shape(x.shape().begin() + first, x.shape().end());
}

Operands layer_norm(Call& call) {
  const Ref x = call.tensor(0), scale = call.optional_tensor(1), bias = call.optional_tensor(2);
  const std::int64_t axis = call.axis(x.rank(), -1);
  const double eps = call.number("epsilon", 1e-5);
  const LayerNorm op{.rank = static_cast<std::int64_t>(x.rank()) - axis, .eps = eps};
  std::vector<Ref> operands = {x};
  const bool fits = scale && has_shape_of(scale, x, axis) && has_shape_of(bias, x, axis);
  if (fits) operands.push_back(scale);
  if (fits && bias) operands.push_back(bias);
  Ref y = tenon::apply(op, operands);
  if (!fits && scale) y = y * scale;
  if (!fits && bias) y = y + bias;
  Operands out = {y};
  if (call.wants(1) || call.wants(2)) {
    const Ref wide = is_float(x.dtype()) && size_of(x.dtype()) < 4 ? cast(DType::f32, x) : x;
    const Ref variance =
        apply(Variance{.axes = last_axes(x, axis), .correction = 0, .keepdim = true}, {wide});
    out.emplace_back(mean(wide, last_axes(x, axis), true));
    out.emplace_back(reciprocal(sqrt(variance + eps)));
  }
  return out;
}

Ref rms_normed(const Call& call, const Ref& x, const Ref& scale, std::int64_t axis) {
  const RmsNorm op{.rank = static_cast<std::int64_t>(x.rank()) - axis, .eps = call.number("epsilon", 1e-5)};
  if (scale && has_shape_of(scale, x, axis) && scale.dtype() == x.dtype()) return apply(op, {x, scale});
  const Ref y = apply(op, {x});
  return scale ? y * scale : y;
}

Operands rms_norm(Call& call) {
  const Ref x = call.tensor(0);
  return {rms_normed(call, x, call.optional_tensor(1), call.axis(x.rank(), -1))};
}

/// The first input is the product that the bias belongs to.
Ref with_bias(const Call& call, std::size_t bias) {
  return call.has(bias) ? call.tensor(0) + call.tensor(bias) : call.tensor(0);
}

/// The inputs' sum, normalised; it is an output too.
Operands skip_layer_norm(Call& call) {
  const Ref x = with_bias(call, 4) + call.tensor(1);
  std::vector<Ref> operands = {x, call.tensor(2)};
  if (call.has(3)) operands.push_back(call.tensor(3));
  return {tenon::apply(LayerNorm{.rank = 1, .eps = call.number("epsilon", 1e-5)}, operands), Absent{},
          Absent{}, x};
}
Operands skip_rms_norm(Call& call) {
  const Ref x = with_bias(call, 3) + call.tensor(1);
  return {rms_normed(call, x, call.tensor(2), normalize_axis(-1, x.rank())), Absent{}, Absent{}, x};
}

/// Words, places and segments of a text, their sum normalised; the mask becomes the number of words.
Operands embed_layer_norm(Call& call) {
  const Ref ids = cast(DType::i64, call.tensor(0));
  check_rank("input_ids", ids.type(), 2);
  const auto rows = [&](std::size_t table, std::size_t at) {
    return index_select(call.tensor(table), 0, cast(DType::i64, call.tensor(at)));
  };
  Ref x = index_select(call.tensor(2), 0, ids);
  x = x + (call.has(8) ? rows(3, 8) : slice(call.tensor(3), 0, Dim(0), ids.shape()[1]));
  if (call.has(1)) x = x + rows(4, 1);
  const Ref y =
      apply(LayerNorm{.rank = 1, .eps = call.number("epsilon", 1e-12)}, {x, call.tensor(5), call.tensor(6)});
  const Ref words = call.has(7) ? sum(cast(DType::i32, equal(call.tensor(7), call.tensor(7).literal(1))), {1})
                                : full({ids.shape()[0]}, 0, DType::i32, call.build.insertion_point());
  return {y, words, x};
}

/// Groups of channels that stand last or first, with an activation behind; scale and bias are f32.
Ref group_normed(const Call& call, const Ref& x) {
  const bool is_last = call.integer("channels_last", 1) != 0;
  const auto with = [&](std::size_t i) { return cast(x.dtype(), call.tensor(i)); };
  const Ref y = apply(GroupNorm{.groups = call.integer("groups"), .eps = call.number("epsilon", 1e-5)},
                      {is_last ? channels_first(x) : x, with(1), with(2)});
  const std::int64_t activation = call.integer("activation");
  if (activation != 0 && activation != 1) throw error("its activation is {}", activation);
  const Ref out = activation == 1 ? silu(y) : y;
  return is_last ? channels_last(out) : out;
}

Operands group_norm_of_microsoft(Call& call) { return {group_normed(call, call.tensor(0))}; }

/// With a tensor, or a row for each sample, and a bias of the channels added before; the sum is an output.
Operands skip_group_norm(Call& call) {
  Ref x = call.tensor(0), skip = call.tensor(3);
  check_rank("X", x.type(), 4);
  const bool is_last = call.integer("channels_last", 1) != 0;
  const auto beside = [&](const Ref& v, const Dim& samples) {
    const Dim& channels = v.shape().back();
    return reshape(
        v, is_last ? Shape{samples, Dim(1), Dim(1), channels} : Shape{samples, channels, Dim(1), Dim(1)});
  };
  x = x + (skip.rank() == 2 ? beside(skip, skip.shape()[0]) : skip);
  if (call.has(4)) {
    const Ref bias = call.tensor(4);
    check_rank("bias", bias.type(), 1);
    x = x + beside(bias, Dim(1));
  }
  return {group_normed(call, x), x};
}

/// Each element over a power of the squares of its neighbours among the channels.
Operands local_response_norm(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t size = call.integer("size");
  if (x.rank() < 3 || size < 1) throw error("a size of {} for a tensor {}", size, x.type().str());
  const Dim samples = x.shape()[0], channels = x.shape()[1];
  const Dim rest = numel(Shape(x.shape().begin() + 2, x.shape().end()));
  const Ref squares = reshape(x * x, {samples, Dim(1), channels, rest});
  Shape pads(8, Dim(0));
  pads[2] = Dim((size - 1) / 2);
  pads[6] = Dim(size - 1 - (size - 1) / 2);
  const AvgPool window{.kernel = {size, 1}, .stride = {1, 1}, .divisor = 1};
  const Ref sums = reshape(apply(window, {pad(squares, pads)}), x.shape());
  const Ref base = sums * (call.number("alpha", 1e-4) / static_cast<double>(size)) + call.number("bias", 1);
  return {x / pow(base, x.literal(call.number("beta", 0.75)))};
}

/// 0 where the norm is 0.
Operands lp_norm(Call& call) {
  const Ref x = call.tensor(0);
  const std::int64_t axis = call.axis(x.rank(), -1), p = call.integer("p", 2);
  if (p != 1 && p != 2) throw error("its p is {}, not 1 or 2", p);
  const Ref size = p == 1 ? sum(abs(x), {axis}, true) : sqrt(sum(x * x, {axis}, true));
  const Ref zero = size.literal(0);
  return {where(equal(size, zero), zero, x / size)};
}

Operands mean_variance_norm(Call& call) {
  const Ref x = call.tensor(0);
  Axes axes = call.integers("axes", {0, 2, 3});
  for (std::int64_t& a : axes) a = normalize_axis(a, x.rank());
  const Ref average = mean(x, axes, true);
  const Ref deviation = sqrt(mean(x * x, axes, true) - average * average);
  return {(x - average) / (deviation + 1e-9)};
}

}  // namespace

std::span<const OnnxEntry> norm_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"BatchNormalization", batch_norm},
      OnnxEntry{"GroupNormalization", group_norm},
      OnnxEntry{"InstanceNormalization", instance_norm},
      OnnxEntry{"LRN", local_response_norm},
      OnnxEntry{"LayerNormalization", layer_norm},
      OnnxEntry{"LpNormalization", lp_norm},
      OnnxEntry{"MeanVarianceNormalization", mean_variance_norm},
      OnnxEntry{"RMSNormalization", rms_norm},
      OnnxEntry{"SimplifiedLayerNormalization", rms_norm},
      OnnxEntry{"com.microsoft.EmbedLayerNormalization", embed_layer_norm},
      OnnxEntry{"com.microsoft.GroupNorm", group_norm_of_microsoft},
      OnnxEntry{"com.microsoft.SkipGroupNorm", skip_group_norm},
      OnnxEntry{"com.microsoft.SkipLayerNormalization", skip_layer_norm},
      OnnxEntry{"com.microsoft.SkipSimplifiedLayerNormalization", skip_rms_norm},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
