// Operators that take or give quantised tensors, and those that imitate them in floats.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "converter/aten/quantized.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

Ref real(Call& call, std::string_view argument) {
  return call.build.read(quantized_of(call.build, call.value(argument)).real);
}

std::int64_t dtype_of(Call& call, std::string_view argument) {
  return quantized_of(call.build, call.value(argument)).dtype;
}

Ref run_real(Call& call, std::string_view name, std::vector<Argument> arguments) {
  const auto out = run_aten(call.build, name, "", std::move(arguments));
  return call.build.read(*out.at(0).get<TensorPtr>());
}
AbstractValue as_value(Call& call, const Ref& r) {
  return r ? AbstractValue(call.build.tensor(r)) : AbstractValue();
}

// ---- between floats and integers ----

Results quantize_per_tensor(Call& call) {
  return Results(rounded(call.build, call.tensor("self"), call.value("scale"), call.value("zero_point"),
                         call.integer("dtype")));
}

Results quantize_per_channel(Call& call) {
  const Ref x = call.tensor("self");
  Quantized q{.scale = call.value("scales"),
              .zero = call.value("zero_points"),
              .dtype = call.integer("dtype"),
              .axis = call.axis("axis", x.rank())};
  const auto [low, high] = bounds_of(q.dtype);
  q.real = call.build.tensor(on_grid(x, {beside(call.build, q.scale, x.rank(), q.axis),
                                         beside(call.build, q.zero, x.rank(), q.axis), low, high}));
  return Results(as_value(q));
}

Results dequantize(Call& call) {
  if (call.has("self")) {
    if (call.value("self").is_tensor()) return Results(call.value("self"));
    return Results(quantized_of(call.build, call.value("self")).real);
  }
  std::vector<AbstractValue> all;
  const auto* items = items_of(call.value(call.has("tensors") ? "tensors" : "qtensors"));
  if (!items) throw unsupported("dequantize of what is no tensor and no list");
  for (const AbstractValue& d : *items) all.emplace_back(quantized_of(call.build, d).real);
  return Results(list_of(std::move(all)));
}

Results int_repr(Call& call) {
  const Quantized q = quantized_of(call.build, call.value("self"));
  const Ref x = call.build.read(q.real);
  const Ref code =
      round(x / beside(call.build, q.scale, x.rank(), q.axis)) + beside(call.build, q.zero, x.rank(), q.axis);
  return cast(q.dtype == quint8 ? DType::u8 : q.dtype == qint8 ? DType::i8 : DType::i32, code);
}

Results q_scale(Call& call) { return Results(quantized_of(call.build, call.value("self")).scale); }
Results q_zero_point(Call& call) { return Results(quantized_of(call.build, call.value("self")).zero); }

// ---- in training's place ----

Ref faked(Call& call, const Ref& x, std::string_view zero, std::optional<std::int64_t> axis) {
  Ref place = beside(call.build, call.value(zero), x.rank(), axis);
  return on_grid(x, {beside(call.build, call.value("scale"), x.rank(), axis), round(place),
                     call.number("quant_min"), call.number("quant_max")});
}

Results fake_per_tensor(Call& call) {
  call.ignore({"grad_factor"});
  const Ref x = call.tensor("self");
  if (call.has("fake_quant_enabled")) {
    const Ref on = call.tensor("fake_quant_enabled");
    return where(reshape(cast(DType::boolean, on), {}), faked(call, x, "zero_point", std::nullopt), x);
  }
  return faked(call, x, "zero_point", std::nullopt);
}

Results fake_per_channel(Call& call) {
  call.ignore({"grad_factor"});
  const Ref x = call.tensor("self");
  return faked(call, x, "zero_point", call.axis("axis", x.rank()));
}

Results fake_with_observer(Call& call) {
  call.ignore({"running_min", "running_max", "averaging_const", "symmetric_quant"});
  const auto observes = call.build.known_number(call.build.tensor(reshape(call.tensor("observer_on"), {})));
  const auto* flag = observes ? observes->get<Dim>() : nullptr;
  if (!flag || !flag->is_known() || flag->value() != 0)
    throw unsupported("fake quantisation whose observer is on: each call changes its scale")
        .hint("model.apply(torch.ao.quantization.disable_observer) before it is saved");
  const Ref x = call.tensor("self");
  const bool along = call.flag("per_row_fake_quant", false);
  std::optional<std::int64_t> axis;
  if (along) axis = call.axis("ch_axis", x.rank());
  call.ignore({"ch_axis"});
  const Ref on = reshape(cast(DType::boolean, call.tensor("fake_quant_on")), {});
  return where(on, faked(call, x, "zero_point", axis), x);
}

// ---- layers with packed parameters ----

/// The state of a convolution's: its sizes, then the weight; the bias.
struct PackedConv {
  Ref weight;
  AbstractValue bias;
  std::vector<Argument> how;
  bool transposed = false;
};
PackedConv packed_conv(Call& call) {
  const auto* state = items_of(call.value("packed_weight"));
  const auto* tensors = state && state->size() == 3 ? items_of((*state)[1]) : nullptr;
  const auto* sizes = tensors && tensors->size() == 2 ? items_of((*tensors)[0]) : nullptr;
  const auto* biases = state && state->size() == 3 ? items_of((*state)[2]) : nullptr;
  if (!sizes || !biases || biases->size() != 1 || sizes->empty())
    throw unsupported("packed parameters of a convolution in another form than PyTorch's second version");
  const std::int64_t rank = (*sizes)[0].get<Dim>()->value();
  if (std::ssize(*sizes) != 4 * rank + 3) throw error("packed parameters of {} numbers", sizes->size());
  PackedConv packed{.weight = call.build.read(quantized_of(call.build, (*tensors)[1]).real),
                    .bias = (*biases)[0]};
  constexpr std::array names = {"stride", "padding", "dilation", "output_padding"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto first = sizes->begin() + 1 + static_cast<std::int64_t>(i) * rank;
    packed.how.push_back({names[i], list_of(std::vector<AbstractValue>(first, first + rank))});
  }
  packed.how.push_back({"groups", (*sizes)[static_cast<std::size_t>(4 * rank + 1)]});
  packed.transposed = (*sizes)[static_cast<std::size_t>(4 * rank + 2)].get<Dim>()->value() != 0;
  return packed;
}

Ref convolved(Call& call, const Ref& x) {
  PackedConv packed = packed_conv(call);
  Ref weight = packed.weight, input = x;
  // One axis is packed as two.
  std::vector<Argument> how = {
      {"input", as_value(call, input)}, {"weight", as_value(call, weight)}, {"bias", packed.bias}};
  const bool is_vector = x.rank() + 1 == weight.rank();
  if (is_vector) {
    Shape wide = x.shape();
    wide.insert(wide.end() - 1, Dim(1));
    how[0].value = as_value(call, reshape(x, wide));
  }
  how.insert(how.end(), packed.how.begin(), packed.how.end());
  how.push_back({"transposed", AbstractValue(packed.transposed)});
  const Ref y = run_real(call, "convolution", std::move(how));
  if (!is_vector) return y;
  Shape narrow = y.shape();
  narrow.erase(narrow.end() - 2);
  return reshape(y, narrow);
}

Ref multiplied(Call& call, const Ref& x) {
  const PackedLinear packed = packed_linear(call.build, call.value("W_prepack"));
  std::vector<Argument> how = {{"input", as_value(call, x)},
                               {"weight", as_value(call, packed.weight)},
                               {"bias", as_value(call, packed.bias)}};
  return run_real(call, "linear", std::move(how));
}

bool has_relu(const Call& call) {
  return call.name.ends_with("_relu") || call.name.find("_relu_") != std::string::npos;
}

Ref activated(const Call& call, const Ref& y) { return has_relu(call) ? maximum(y, y.literal(0)) : y; }

Results static_conv(Call& call) {
  Ref y = convolved(call, real(call, "qx"));
  if (call.has("qaccum")) y = y + real(call, "qaccum");
  return Results(rounded(call.build, activated(call, y), call.value("output_scale"),
                         call.value("output_zero_point"), dtype_of(call, "qx")));
}
Results dynamic_conv(Call& call) {
  return activated(call, convolved(call, on_own_grid(call.tensor("qx"), call.flag("reduce_range", false))));
}
Results static_linear(Call& call) {
  const Ref y = activated(call, multiplied(call, real(call, "X")));
  return Results(
      rounded(call.build, y, call.value("Y_scale_i"), call.value("Y_zero_point_i"), dtype_of(call, "X")));
}
Results dynamic_linear(Call& call) {
  return activated(call, multiplied(call, on_own_grid(call.tensor("X"), call.flag("reduce_range", false))));
}
/// Weights of 16 bits: what is multiplied are floats.
Results linear_with_halves(Call& call) { return activated(call, multiplied(call, call.tensor("X"))); }

// ---- without parameters ----

Results two(Call& call) {
  const Ref a = real(call, "qa"), b = real(call, "qb");
  const bool adds = call.name.starts_with("quantized::add");
  const Ref y = call.name.starts_with("quantized::matmul")
                    ? run_real(call, "matmul", {{"self", as_value(call, a)}, {"other", as_value(call, b)}})
                : adds ? a + b
                       : a * b;
  return Results(rounded(call.build, activated(call, y), call.value("scale"), call.value("zero_point"),
                         dtype_of(call, "qa")));
}

Results joined(Call& call) {
  const auto* items = items_of(call.value("qx"));
  if (!items || items->empty()) throw error("nothing to join");
  std::vector<AbstractValue> parts;
  for (const AbstractValue& d : *items) parts.emplace_back(quantized_of(call.build, d).real);
  const Quantized first = quantized_of(call.build, (*items)[0]);
  const Ref y = run_real(call, "cat", {{"tensors", list_of(std::move(parts))}, {"dim", call.value("dim")}});
  return Results(rounded(call.build, activated(call, y),
                         call.has("scale") ? call.value("scale") : first.scale,
                         call.has("zero_point") ? call.value("zero_point") : first.zero, first.dtype));
}

Results clipped(Call& call) {  // relu6
  call.ignore({"inplace"});
  const Quantized q = quantized_of(call.build, call.value("qx"));
  return Results(rounded(call.build, apply(Clamp{.min = 0, .max = 6}, {call.build.read(q.real)}), q.scale,
                         q.zero, q.dtype));
}

/// "quantized::hardswish": the operator on real numbers, rounded. The first argument is quantised.
Results on_real_numbers(Call& call) {
  std::vector<Argument> own;
  std::int64_t dtype = 0;
  bool first = true;
  for (const Argument& a : call.arguments()) {
    if (a.name == "output_scale" || a.name == "output_zero_point" || a.name == "inplace") continue;
    Argument given = a;
    if (is_quantized(a.value)) {
      const Quantized q = quantized_of(call.build, a.value);
      if (first) dtype = q.dtype;
      given.value = q.real;
    }
    first = false;
    own.push_back(std::move(given));
  }
  call.ignore({"inplace"});
  const std::string name = call.name.substr(call.name.find("::") + 2);
  own.at(0).name = name.ends_with("_norm") ? "input" : "self";
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  return Results(rounded(call.build, run_real(call, name, std::move(own)), call.value("output_scale"),
                         call.value("output_zero_point"), dtype));
}

// ---- with numbers: the integers stay where they are, and the grid moves ----

struct KnownGrid {
  double scale;
  std::int64_t zero;
};
KnownGrid known_grid(const Quantized& q) {
  const auto* scale = q.scale.get<double>();
  const auto* zero = q.zero.get<Dim>();
  if (!scale || !zero || !zero->is_known())
    throw unsupported("a number and a quantised tensor whose scale is not known");
  return {*scale, zero->value()};
}
Results on(Call& call, const KnownGrid& grid, const Ref& y, std::int64_t dtype) {
  return Results(
      rounded(call.build, activated(call, y), AbstractValue(grid.scale), AbstractValue(grid.zero), dtype));
}

Results add_scalar(Call& call) {
  const Quantized q = quantized_of(call.build, call.value("qa"));
  const auto [scale, zero] = known_grid(q);
  const auto [low, high] = bounds_of(q.dtype);
  const double steps = std::nearbyint(call.number("b") / scale), moved = static_cast<double>(zero) - steps;
  KnownGrid grid{scale, static_cast<std::int64_t>(std::clamp(moved, low, high))};
  if (moved < low) grid.scale = (high - moved) / (high - low) * scale;
  if (moved > high) grid.scale = (moved - low) / (high - low) * scale;
  return on(call, grid, call.build.read(q.real) + steps * scale, q.dtype);
}

Results mul_scalar(Call& call) {
  const Quantized q = quantized_of(call.build, call.value("qa"));
  const auto [scale, zero] = known_grid(q);
  const auto [low, high] = bounds_of(q.dtype);
  const double by = call.number("b");
  const auto mirrored = static_cast<std::int64_t>(high + low) - zero;
  const KnownGrid grid =
      by == 0 ? KnownGrid{1, 0} : KnownGrid{std::abs(by) * scale, by > 0 ? zero : mirrored};
  return on(call, grid, call.build.read(q.real) * by, q.dtype);
}

Results normalized(Call& call) {
  const Ref y = run_real(call, "batch_norm",
                         {{"input", as_value(call, real(call, "qx"))},
                          {"weight", call.has("weight") ? call.value("weight") : AbstractValue()},
                          {"bias", call.has("bias") ? call.value("bias") : AbstractValue()},
                          {"running_mean", call.value("mean")},
                          {"running_var", call.value("var")},
                          {"training", AbstractValue(false)},
                          {"momentum", AbstractValue(0.0)},
                          {"eps", call.value("eps")},
                          {"cudnn_enabled", AbstractValue(false)}});
  return Results(rounded(call.build, activated(call, y), call.value("output_scale"),
                         call.value("output_zero_point"), dtype_of(call, "qx")));
}

// ---- tables whose rows have a scale each ----

/// Packed: a version, the table, numbers that are not used.
AbstractValue packed_table(Call& call) {
  if (call.flag("pruned_weights", false) || call.has("compressed_indices_mapping"))
    throw unsupported("a table of quantised rows that lacks some");
  const auto* state = items_of(call.value("weight"));
  const auto* tables = state && state->size() == 4 ? items_of((*state)[1]) : nullptr;
  if (!tables || tables->size() != 1) throw unsupported("packed embeddings in another form than PyTorch's");
  return AbstractValue(quantized_of(call.build, (*tables)[0]).real);
}

Results looked_up(Call& call) {
  return run_real(call, "embedding", {{"weight", packed_table(call)}, {"indices", call.value("indices")}});
}

Results summed_bags(Call& call) {
  call.ignore({"scale_grad_by_freq", "mode"});  // PyTorch sums in every mode
  if (!call.has("offsets")) throw unsupported("bags of quantised embeddings without offsets");
  return run_real(call, "embedding_bag",
                  {{"weight", packed_table(call)},
                   {"indices", call.value("indices")},
                   {"offsets", call.value("offsets")},
                   {"mode", AbstractValue(0)},
                   {"per_sample_weights",
                    call.has("per_sample_weights") ? call.value("per_sample_weights") : AbstractValue()},
                   {"include_last_offset", AbstractValue(call.flag("include_last_offset", false))}});
}

constexpr AtenEntry quantized_table[] = {
    {"_fake_quantize_learnable_per_channel_affine", fake_per_channel},
    {"_fake_quantize_learnable_per_tensor_affine", fake_per_tensor},
    {"dequantize", dequantize},
    {"fake_quantize_per_channel_affine", fake_per_channel},
    {"fake_quantize_per_tensor_affine", fake_per_tensor},
    {"fused_moving_avg_obs_fake_quant", fake_with_observer},
    {"int_repr", int_repr},
    {"q_scale", q_scale},
    {"q_zero_point", q_zero_point},
    {"quantize_per_channel", quantize_per_channel},
    {"quantize_per_tensor", quantize_per_tensor},
    {"quantized::add", two},
    {"quantized::add_relu", two},
    {"quantized::add_scalar", add_scalar},
    {"quantized::add_scalar_relu", add_scalar},
    {"quantized::batch_norm", normalized},
    {"quantized::batch_norm1d", normalized},
    {"quantized::batch_norm1d_relu", normalized},
    {"quantized::batch_norm2d", normalized},
    {"quantized::batch_norm2d_relu", normalized},
    {"quantized::batch_norm3d", normalized},
    {"quantized::batch_norm3d_relu", normalized},
    {"quantized::batch_norm_relu", normalized},
    {"quantized::cat", joined},
    {"quantized::cat_relu", joined},
    {"quantized::conv1d", static_conv},
    {"quantized::conv1d_dynamic", dynamic_conv},
    {"quantized::conv1d_relu", static_conv},
    {"quantized::conv2d", static_conv},
    {"quantized::conv2d_add", static_conv},
    {"quantized::conv2d_add_relu", static_conv},
    {"quantized::conv2d_dynamic", dynamic_conv},
    {"quantized::conv2d_relu", static_conv},
    {"quantized::conv3d", static_conv},
    {"quantized::conv3d_dynamic", dynamic_conv},
    {"quantized::conv3d_relu", static_conv},
    {"quantized::conv_transpose1d", static_conv},
    {"quantized::conv_transpose2d", static_conv},
    {"quantized::conv_transpose3d", static_conv},
    {"quantized::elu", on_real_numbers},
    {"quantized::embedding_bag_byte", summed_bags},
    {"quantized::embedding_byte", looked_up},
    {"quantized::group_norm", on_real_numbers},
    {"quantized::hardswish", on_real_numbers},
    {"quantized::layer_norm", on_real_numbers},
    {"quantized::leaky_relu", on_real_numbers},
    {"quantized::linear", static_linear},
    {"quantized::linear_dynamic", dynamic_linear},
    {"quantized::linear_dynamic_fp16", linear_with_halves},
    {"quantized::linear_relu", static_linear},
    {"quantized::linear_relu_dynamic", dynamic_linear},
    {"quantized::linear_relu_dynamic_fp16", linear_with_halves},
    {"quantized::matmul", two},
    {"quantized::mul", two},
    {"quantized::mul_relu", two},
    {"quantized::mul_scalar", mul_scalar},
    {"quantized::mul_scalar_relu", mul_scalar},
    {"quantized::relu6", clipped},
    {"quantized::sigmoid", on_real_numbers},
    {"quantized::softmax", on_real_numbers},
};

}  // namespace

PackedLinear packed_linear(Builder& build, const AbstractValue& d) {
  const auto* state = items_of(d);
  if (!state || state->size() != 2 || is_quantized(d))
    throw unsupported("packed parameters of a linear layer that are {}", kind_name(d));
  PackedLinear packed;
  const TensorPtr weight =
      is_quantized((*state)[0]) ? quantized_of(build, (*state)[0]).real : *(*state)[0].get<TensorPtr>();
  packed.weight = build.read(weight);
  if (const auto* bias = (*state)[1].get<TensorPtr>()) packed.bias = build.read(*bias);
  return packed;
}

std::span<const AtenEntry> quantized_entries() { return quantized_table; }

}  // namespace tenon::converter
