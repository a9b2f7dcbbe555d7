#include "converter/aten/quantized.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "converter/interpreter/numbers.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

namespace tenon::converter {

namespace {

constexpr std::int64_t qint8 = 12, quint8 = 13, qint32 = 14;

const std::vector<std::string> fields = {"real", "scale", "zero_point", "dtype", "axis"};
/// As the reader of archives has them (libtorch/program_writer.cpp).
const std::vector<std::string> stored_fields = {"codes", "scale", "zero_point", "dtype", "axis"};

const Tuple* tuple_with(const Datum& d, const std::vector<std::string>& names) {
  const auto* tuple = d.get<TuplePtr>();
  return tuple && (*tuple)->fields == names ? tuple->get() : nullptr;
}

/// A scale or zero point as f32 that broadcasts against x.
Ref beside(Builder& build, const Datum& d, std::size_t rank, std::optional<std::int64_t> axis) {
  if (!d.is_tensor()) return build.literal(d, DType::f32);
  const Ref v = cast(DType::f32, build.read(*d.get<TensorPtr>()));
  if (!axis) return reshape(v, {});
  Shape along(rank, Dim(1));
  along.at(static_cast<std::size_t>(*axis)) = numel(v.shape());
  return reshape(v, along);
}

std::pair<double, double> bounds_of(std::int64_t codes) {
  switch (codes) {
    case qint8: return {-128, 127};
    case quint8: return {0, 255};
    case qint32: return {-2147483648.0, 2147483647.0};
    default: throw unsupported("a tensor quantised to the dtype number {}", codes);
  }
}

}  // namespace

Datum datum_of(const Quantized& q) {
  auto tuple = std::make_shared<Tuple>();
  tuple->items = {Datum(q.real), q.scale, q.zero, Datum(q.codes), q.axis ? Datum(*q.axis) : Datum()};
  tuple->fields = fields;
  return Datum(TuplePtr(tuple));
}

bool is_quantized(const Datum& d) { return tuple_with(d, fields) || tuple_with(d, stored_fields); }

Quantized quantized_of(Builder& build, const Datum& d) {
  const Tuple *held = tuple_with(d, fields), *stored = tuple_with(d, stored_fields);
  if (!held && !stored) throw unsupported("{} where a quantised tensor is needed", kind_name(d));
  const auto& items = (held ? held : stored)->items;
  Quantized q{.scale = items[1], .zero = items[2], .codes = items[3].get<Dim>()->value()};
  if (const auto* axis = items[4].get<Dim>()) q.axis = axis->value();
  if (held) {
    q.real = *items[0].get<TensorPtr>();
    return q;
  }
  const auto* codes = items[0].get<TensorPtr>();
  if (!codes) throw unsupported("{} as the integers of a quantised tensor", kind_name(items[0]));
  const Ref x = build.read(*codes);
  q.real = build.tensor((cast(DType::f32, x) - beside(build, q.zero, x.rank(), q.axis)) *
                        beside(build, q.scale, x.rank(), q.axis));
  return q;
}

Ref on_grid(const Ref& x, const Grid& g) {
  const Ref code = round(x * (g.scale.literal(1) / g.scale)) + g.zero;
  return (apply(Clamp{.min = g.low, .max = g.high}, {code}) - g.zero) * g.scale;
}

// PyTorch's ChooseQuantizationParams, in double precision as there.
Ref on_own_grid(const Ref& x, bool reduced) {
  const double high = reduced ? 127 : 255, smallest = 6.1e-5;
  const Ref lowest = amin(reshape(x, {numel(x.shape())}), {0}),
            most = amax(reshape(x, {numel(x.shape())}), {0});
  const Ref zero = cast(DType::f64, lowest).literal(0);
  Ref low = minimum(cast(DType::f64, lowest), zero), up = maximum(cast(DType::f64, most), zero);
  Ref scale = (up - low) / high;
  scale = where(equal(scale, zero), scale.literal(0.1), scale);
  const Ref tiny = scale < scale.literal(smallest), grown = scale.literal(smallest) / scale;
  low = where(tiny, low * grown, low);
  up = where(tiny, up * grown, up);
  scale = where(tiny, scale.literal(smallest), scale);
  // Of the two ends the one that gives the smaller error.
  const Ref from_low = zero - low / scale, from_up = scale.literal(high) - up / scale;
  const Ref place = where(abs(low / scale) < abs(up / scale) + high, from_low, from_up);
  const Ref code = apply(Clamp{.min = 0, .max = high}, {round(place)});
  return on_grid(x, {cast(DType::f32, scale), cast(DType::f32, code), 0, high});
}

namespace {

/// The result of an operator, rounded to a grid of one scale.
Datum rounded(Builder& build, const Ref& y, const Datum& scale, const Datum& zero, std::int64_t codes) {
  const auto [low, high] = bounds_of(codes);
  const Ref on = on_grid(cast(DType::f32, y), {beside(build, scale, 0, std::nullopt),
                                               beside(build, zero, 0, std::nullopt), low, high});
  return datum_of({.real = build.tensor(on), .scale = scale, .zero = zero, .codes = codes});
}

Ref real(Call& call, std::string_view argument) {
  return call.build.read(quantized_of(call.build, call.datum(argument)).real);
}

std::int64_t codes_of(Call& call, std::string_view argument) {
  return quantized_of(call.build, call.datum(argument)).codes;
}

Ref run_real(Call& call, std::string_view name, std::vector<Argument> arguments) {
  const auto out = run_aten(call.build, name, "", std::move(arguments));
  return call.build.read(*out.at(0).get<TensorPtr>());
}
Datum as_datum(Call& call, const Ref& r) { return r ? Datum(call.build.tensor(r)) : Datum(); }

// ---- between floats and integers ----

Results quantize_per_tensor(Call& call) {
  return Results(rounded(call.build, call.tensor("self"), call.datum("scale"), call.datum("zero_point"),
                         call.integer("dtype")));
}

Results quantize_per_channel(Call& call) {
  const Ref x = call.tensor("self");
  Quantized q{.scale = call.datum("scales"),
              .zero = call.datum("zero_points"),
              .codes = call.integer("dtype"),
              .axis = call.axis("axis", x.rank())};
  const auto [low, high] = bounds_of(q.codes);
  q.real = call.build.tensor(on_grid(x, {beside(call.build, q.scale, x.rank(), q.axis),
                                         beside(call.build, q.zero, x.rank(), q.axis), low, high}));
  return Results(datum_of(q));
}

Results dequantize(Call& call) {
  if (call.has("self")) {
    if (call.datum("self").is_tensor()) return Results(call.datum("self"));
    return Results(quantized_of(call.build, call.datum("self")).real);
  }
  std::vector<Datum> all;
  const auto* items = items_of(call.datum(call.has("tensors") ? "tensors" : "qtensors"));
  if (!items) throw unsupported("dequantize of what is no tensor and no list");
  for (const Datum& d : *items) all.emplace_back(quantized_of(call.build, d).real);
  return Results(list_of(std::move(all)));
}

Results int_repr(Call& call) {
  const Quantized q = quantized_of(call.build, call.datum("self"));
  const Ref x = call.build.read(q.real);
  const Ref code =
      round(x / beside(call.build, q.scale, x.rank(), q.axis)) + beside(call.build, q.zero, x.rank(), q.axis);
  return cast(q.codes == quint8 ? DType::u8 : q.codes == qint8 ? DType::i8 : DType::i32, code);
}

Results q_scale(Call& call) { return Results(quantized_of(call.build, call.datum("self")).scale); }
Results q_zero_point(Call& call) { return Results(quantized_of(call.build, call.datum("self")).zero); }

// ---- in training's place ----

Ref faked(Call& call, const Ref& x, std::string_view zero, std::optional<std::int64_t> axis) {
  Ref place = beside(call.build, call.datum(zero), x.rank(), axis);
  return on_grid(x, {beside(call.build, call.datum("scale"), x.rank(), axis), round(place),
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
  Datum bias;
  std::vector<Argument> how;
  bool transposed = false;
};
PackedConv packed_conv(Call& call) {
  const auto* state = items_of(call.datum("packed_weight"));
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
    packed.how.push_back({names[i], list_of(std::vector<Datum>(first, first + rank))});
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
      {"input", as_datum(call, input)}, {"weight", as_datum(call, weight)}, {"bias", packed.bias}};
  const bool is_vector = x.rank() + 1 == weight.rank();
  if (is_vector) {
    Shape wide = x.shape();
    wide.insert(wide.end() - 1, Dim(1));
    how[0].value = as_datum(call, reshape(x, wide));
  }
  how.insert(how.end(), packed.how.begin(), packed.how.end());
  how.push_back({"transposed", Datum(packed.transposed)});
  const Ref y = run_real(call, "convolution", std::move(how));
  if (!is_vector) return y;
  Shape narrow = y.shape();
  narrow.erase(narrow.end() - 2);
  return reshape(y, narrow);
}

Ref multiplied(Call& call, const Ref& x) {
  const PackedLinear packed = packed_linear(call.build, call.datum("W_prepack"));
  std::vector<Argument> how = {{"input", as_datum(call, x)},
                               {"weight", as_datum(call, packed.weight)},
                               {"bias", as_datum(call, packed.bias)}};
  return run_real(call, "linear", std::move(how));
}

bool has_relu(const Call& call) {
  return call.name.ends_with("_relu") || call.name.find("_relu_") != std::string::npos;
}

Ref activated(const Call& call, const Ref& y) { return has_relu(call) ? maximum(y, y.literal(0)) : y; }

Results static_conv(Call& call) {
  Ref y = convolved(call, real(call, "qx"));
  if (call.has("qaccum")) y = y + real(call, "qaccum");
  return Results(rounded(call.build, activated(call, y), call.datum("output_scale"),
                         call.datum("output_zero_point"), codes_of(call, "qx")));
}
Results dynamic_conv(Call& call) {
  return activated(call, convolved(call, on_own_grid(call.tensor("qx"), call.flag("reduce_range", false))));
}
Results static_linear(Call& call) {
  const Ref y = activated(call, multiplied(call, real(call, "X")));
  return Results(
      rounded(call.build, y, call.datum("Y_scale_i"), call.datum("Y_zero_point_i"), codes_of(call, "X")));
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
                    ? run_real(call, "matmul", {{"self", as_datum(call, a)}, {"other", as_datum(call, b)}})
                : adds ? a + b
                       : a * b;
  return Results(rounded(call.build, activated(call, y), call.datum("scale"), call.datum("zero_point"),
                         codes_of(call, "qa")));
}

Results joined(Call& call) {
  const auto* items = items_of(call.datum("qx"));
  if (!items || items->empty()) throw error("nothing to join");
  std::vector<Datum> parts;
  for (const Datum& d : *items) parts.emplace_back(quantized_of(call.build, d).real);
  const Quantized first = quantized_of(call.build, (*items)[0]);
  const Ref y = run_real(call, "cat", {{"tensors", list_of(std::move(parts))}, {"dim", call.datum("dim")}});
  return Results(rounded(call.build, activated(call, y),
                         call.has("scale") ? call.datum("scale") : first.scale,
                         call.has("zero_point") ? call.datum("zero_point") : first.zero, first.codes));
}

Results clipped(Call& call) {  // relu6
  call.ignore({"inplace"});
  const Quantized q = quantized_of(call.build, call.datum("qx"));
  return Results(rounded(call.build, apply(Clamp{.min = 0, .max = 6}, {call.build.read(q.real)}), q.scale,
                         q.zero, q.codes));
}

/// "quantized::hardswish": the operator on real numbers, rounded. The first argument is quantised.
Results on_real_numbers(Call& call) {
  std::vector<Argument> own;
  std::int64_t codes = 0;
  bool first = true;
  for (const Argument& a : call.arguments()) {
    if (a.name == "output_scale" || a.name == "output_zero_point" || a.name == "inplace") continue;
    Argument given = a;
    if (is_quantized(a.value)) {
      const Quantized q = quantized_of(call.build, a.value);
      if (first) codes = q.codes;
      given.value = q.real;
    }
    first = false;
    own.push_back(std::move(given));
  }
  call.ignore({"inplace"});
  const std::string name = call.name.substr(call.name.find("::") + 2);
  own.at(0).name = name.ends_with("_norm") ? "input" : "self";
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  return Results(rounded(call.build, run_real(call, name, std::move(own)), call.datum("output_scale"),
                         call.datum("output_zero_point"), codes));
}

constexpr Entry entries[] = {
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
    {"quantized::relu6", clipped},
    {"quantized::sigmoid", on_real_numbers},
    {"quantized::softmax", on_real_numbers},
};

// ---- PyTorch's own operators on quantised tensors ----

/// Elements are moved or compared: they stay on the grid.
constexpr std::array keeps = std::to_array<std::string_view>({"alias",
                                                              "channel_shuffle",
                                                              "chunk",
                                                              "clone",
                                                              "contiguous",
                                                              "detach",
                                                              "dropout",
                                                              "expand",
                                                              "expand_as",
                                                              "feature_dropout",
                                                              "flatten",
                                                              "flip",
                                                              "index_select",
                                                              "max",
                                                              "max_pool1d",
                                                              "max_pool2d",
                                                              "max_pool3d",
                                                              "min",
                                                              "movedim",
                                                              "narrow",
                                                              "native_channel_shuffle",
                                                              "permute",
                                                              "pixel_shuffle",
                                                              "pixel_unshuffle",
                                                              "relu",
                                                              "repeat",
                                                              "reshape",
                                                              "reshape_as",
                                                              "select",
                                                              "slice",
                                                              "split",
                                                              "split_with_sizes",
                                                              "squeeze",
                                                              "t",
                                                              "tensor_split",
                                                              "transpose",
                                                              "unbind",
                                                              "unflatten",
                                                              "unsqueeze",
                                                              "upsample_nearest1d",
                                                              "upsample_nearest2d",
                                                              "upsample_nearest3d",
                                                              "view",
                                                              "view_as"});
/// The result is rounded to the same grid.
constexpr std::array rounds = std::to_array<std::string_view>(
    {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "avg_pool1d", "avg_pool2d",
     "avg_pool3d", "cat", "clamp", "clamp_max", "clamp_min", "elu", "hardswish", "hardtanh", "leaky_relu",
     "mean", "relu6", "stack", "upsample_bilinear2d"});
/// What is asked are sizes.
constexpr std::array asks = std::to_array<std::string_view>(
    {"__len__", "dim", "get_device", "is_contiguous", "len", "numel", "size", "stride"});
/// The result's grid is known: scale and zero point.
struct OwnGrid {
  std::string_view name;
  double scale;
  std::int64_t zero;
};
constexpr std::array own_grids = {OwnGrid{"hardsigmoid", 1.0 / 256, 0}, OwnGrid{"sigmoid", 1.0 / 256, 0},
                                  OwnGrid{"tanh", 2.0 / 256, 128}};

template <class List>
bool is_in(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// The argument with the real numbers in place of quantised tensors; the first of these goes to `first`.
Datum unwrapped(Builder& build, const Datum& d, std::optional<Quantized>& first) {
  if (is_quantized(d)) {
    Quantized q = quantized_of(build, d);
    if (!first) first = q;
    return Datum(q.real);
  }
  const auto* list = d.get<ListPtr>();
  if (!list) return d;
  std::vector<Datum> items;
  for (const Datum& item : (*list)->items) items.push_back(unwrapped(build, item, first));
  return list_of(std::move(items));
}

template <class F>
Datum on_each_tensor(const Datum& d, F&& f) {
  if (const auto* t = d.get<TensorPtr>()) return (*t)->is_scalar || !is_float((*t)->dtype()) ? d : f(*t);
  const auto* list = d.get<ListPtr>();
  if (!list) return d;
  std::vector<Datum> items;
  for (const Datum& item : (*list)->items) items.push_back(on_each_tensor(item, f));
  return list_of(std::move(items));
}

bool holds_quantized(const Datum& d) {
  const auto* list = d.get<ListPtr>();
  return is_quantized(d) || (list && std::any_of((*list)->items.begin(), (*list)->items.end(), is_quantized));
}

const Entry* own_entry(std::string_view name) {
  const auto it =
      std::find_if(std::begin(entries), std::end(entries), [&](const Entry& e) { return e.name == name; });
  return it == std::end(entries) ? nullptr : it;
}

}  // namespace

PackedLinear packed_linear(Builder& build, const Datum& d) {
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

bool is_quantized_call(std::string_view name, std::span<const Argument> arguments) {
  return !own_entry(name) && std::any_of(arguments.begin(), arguments.end(),
                                         [](const Argument& a) { return holds_quantized(a.value); });
}

std::vector<Datum> run_quantized(Builder& build, std::string_view name, std::string_view overload,
                                 std::vector<Argument> arguments) {
  const std::string_view plain =
      name.ends_with('_') && !name.starts_with('_') ? name.substr(0, name.size() - 1) : name;
  const auto* own =
      std::find_if(own_grids.begin(), own_grids.end(), [&](const OwnGrid& g) { return g.name == plain; });
  const bool is_kept = is_in(keeps, plain), is_rounded = is_in(rounds, plain);
  if (!is_kept && !is_rounded && !is_in(asks, plain) && own == own_grids.end())
    throw unsupported("{} of a quantised tensor", name).hint("dequantize the tensor first");
  std::optional<Quantized> first;
  for (Argument& a : arguments) a.value = unwrapped(build, a.value, first);
  if (first->axis && !is_in(asks, plain) && plain != "detach" && plain != "clone" && plain != "contiguous")
    throw unsupported("{} of a tensor quantised along an axis", name);
  const bool writes = plain != name;
  std::vector<Datum> results = run_aten(build, plain, overload, std::move(arguments));
  for (Datum& d : results)
    d = on_each_tensor(d, [&](const TensorPtr& t) {
      Quantized q = *first;
      q.real = t;
      if (is_kept) return datum_of(q);
      if (is_rounded) return rounded(build, build.read(t), q.scale, q.zero, q.codes);
      if (own != own_grids.end())
        return rounded(build, build.read(t), Datum(own->scale), Datum(own->zero), q.codes);
      return Datum(t);
    });
  if (!writes) return results;
  build.write(first->real, build.read(quantized_of(build, results.at(0)).real));
  return {datum_of(*first)};
}

std::optional<Datum> quantized_property(std::string_view kind, const Datum& d) {
  const Tuple* held = tuple_with(d, fields);
  if (!held) held = tuple_with(d, stored_fields);
  if (!held) return std::nullopt;
  if (kind == "prim::is_quantized") return Datum(true);
  if (kind == "prim::dtype") return held->items[3];
  return std::nullopt;
}

std::span<const Entry> quantized_entries() { return entries; }

}  // namespace tenon::converter
