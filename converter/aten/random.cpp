// Random numbers and what training drops. Whether a model may draw them is decided when the graph is whole
// (converter/random.h).
#include "ir/random.h"

#include <cmath>
#include <numbers>

#include "base/error.h"
#include "converter/aten/promote.h"
#include "converter/aten/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

void ignore_place(Call& call) {
  call.ignore({"layout", "device", "pin_memory", "memory_format", "names", "generator"});
}

/// Shape and dtype of what a call gives: as `self`, or as `size` and `dtype` say.
Type result_of(Call& call, DType fallback = DType::f32) {
  ignore_place(call);
  if (call.find("size")) return {call.dtype("dtype").value_or(fallback), call.sizes("size")};
  const TensorPtr self = call.tensor_ptr("self");
  return {call.dtype("dtype").value_or(self->dtype()), self->shape()};
}

Ref float_of(Call& call, const Type& type, Ref (*draw)(const Shape&, DType, const InsertionPoint&)) {
  if (!is_float(type.dtype)) throw unsupported("{} of {}", call.name, type.str());
  return draw(type.shape, type.dtype, call.build.insertion_point());
}

Results rand(Call& call) { return float_of(call, result_of(call), tenon::uniform); }
Results randn(Call& call) { return float_of(call, result_of(call), standard_normal); }

Ref in_range(Call& call, const Type& type, const AbstractValue& low, const AbstractValue& high) {
  const auto bound = [&](const AbstractValue& d) { return operand(call.build, d, DType::i64); };
  return cast(type.dtype, random_integers(type.shape, bound(low), bound(high), call.build.insertion_point()));
}
Results randint(Call& call) {
  const AbstractValue low = call.has("low") ? call.value("low") : AbstractValue(Dim(0));
  const AbstractValue high = call.value("high");
  return in_range(call, result_of(call, DType::i64), low, high);
}

/// One more than the largest whole number up to which the dtype has all; 2^63 is below zero.
std::int64_t end_of_whole_numbers(DType dtype) {
  switch (dtype) {
    case DType::f64: return (std::int64_t{1} << 53) + 1;
    case DType::f32: return (1 << 24) + 1;
    case DType::f16: return (1 << 11) + 1;
    case DType::bf16: return (1 << 8) + 1;
    case DType::boolean: return 2;
    default: break;
  }
  const bool has_sign =
      dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  const std::size_t bits = 8 * size_of(dtype) - has_sign;
  return bits > 63 ? 0 : static_cast<std::int64_t>(std::uint64_t{1} << bits);
}

/// In place: whole numbers up to the largest of the tensor's dtype where no bound is given.
Results random(Call& call) {
  const Type type = result_of(call);
  const AbstractValue low = call.has("from") ? call.value("from") : AbstractValue(Dim(0));
  return in_range(call, type, low,
                  call.has("to") ? call.value("to") : AbstractValue(Dim(end_of_whole_numbers(type.dtype))));
}

Results randperm(Call& call) {
  ignore_place(call);
  return cast(call.dtype("dtype").value_or(DType::i64),
              permutation(call.size("n"), call.build.insertion_point()));
}

Results uniform_op(Call& call) {
  const double from = call.number("from", 0), to = call.number("to", 1);
  return float_of(call, result_of(call), tenon::uniform) * (to - from) + from;
}

/// Of mean and deviation: numbers, or tensors that broadcast.
Results normal(Call& call) {
  const AbstractValue mean = call.has("mean") ? call.value("mean") : AbstractValue(0.0);
  const AbstractValue deviation = call.has("std") ? call.value("std") : AbstractValue(1.0);
  if (call.find("self") || call.find("size")) {
    const Ref z = float_of(call, result_of(call), standard_normal);
    return z * operand(call.build, deviation, z.dtype()) + operand(call.build, mean, z.dtype());
  }
  call.ignore({"generator"});
  const std::array given = {mean, deviation};
  const auto x = promoted(call.build, given, true);
  const Type type{x[0].dtype(), broadcast(x[0].shape(), x[1].shape())};
  return float_of(call, type, standard_normal) * x[1] + x[0];
}

Results log_normal(Call& call) {
  const double mean = call.number("mean", 1), deviation = call.number("std", 2);
  return exp(float_of(call, result_of(call), standard_normal) * deviation + mean);
}

Results exponential_op(Call& call) {
  const double rate = call.number("lambd", 1);
  return float_of(call, result_of(call), tenon::exponential) / rate;
}

Results cauchy(Call& call) {
  const double median = call.number("median", 0), sigma = call.number("sigma", 1);
  const Ref u = float_of(call, result_of(call), tenon::uniform);
  return tan((u - 0.5) * std::numbers::pi) * sigma + median;
}

/// How many trials there are until one of probability p succeeds.
Results geometric(Call& call) {
  const Type type = result_of(call);
  const Ref waited = exponential(type.shape, type.dtype == DType::f64 ? DType::f64 : DType::f32,
                                 call.build.insertion_point());
  return cast(type.dtype, apply(Clamp{.min = 1}, {ceil(waited / -std::log1p(-call.number("p")))}));
}

/// Of the probabilities in self, or of p with the shape and dtype of self.
Results bernoulli_op(Call& call) {
  const Type type = result_of(call);
  const DType exact = type.dtype == DType::f64 ? DType::f64 : DType::f32;
  const bool own = call.find("p") == nullptr;
  if (own && !is_float(type.dtype)) throw error("bernoulli of {}, which holds no probabilities", type.str());
  const Ref p = own ? call.tensor("self") : operand(call.build, call.value("p"), exact);
  return cast(type.dtype, tenon::bernoulli(type.shape, p, call.build.insertion_point()));
}

Results multinomial_op(Call& call) {
  call.ignore({"generator"});
  return tenon::multinomial(call.tensor("self"), call.size("num_samples"), call.flag("replacement", false));
}

/// In eval mode dropout hands its argument through.
template <bool whole_channels, bool alpha>
Results dropout_op(Call& call) {
  const double p = call.number("p", 0.5);
  if (!call.flag("train", false) || p == 0) return call.tensor_ptr("input");
  return tenon::dropout(call.tensor("input"), p, whole_channels, alpha)[0];
}

Results native_dropout(Call& call) {
  const double p = call.number("p", 0.5);
  if (call.flag("train", true) && p != 0) return tenon::dropout(call.tensor("input"), p);
  const TensorPtr x = call.tensor_ptr("input");
  const Ref kept = full(x->shape(), 1, DType::boolean, call.build.insertion_point());
  return Results::many({AbstractValue(x), AbstractValue(call.build.tensor(kept))});
}

/// A leaky relu whose slope is drawn for each element, in eval mode the mean of the slopes.
Results rrelu(Call& call) {
  call.ignore({"generator", "noise"});
  const Ref x = call.tensor("self");
  const double lower = call.number("lower", 1.0 / 8), upper = call.number("upper", 1.0 / 3);
  if (!call.flag("training", false)) return apply(LeakyRelu{.slope = (lower + upper) / 2}, {x});
  const Ref slopes =
      tenon::uniform(x.shape(), x.dtype(), call.build.insertion_point()) * (upper - lower) + lower;
  return where(x <= x.literal(0), x * slopes, x);
}

constexpr AtenEntry random_table[] = {
    {"rand", rand},
    {"rand_like", rand},
    {"randn", randn},
    {"randn_like", randn},
    {"randint", randint},
    {"randint_like", randint},
    {"random", random},
    {"randperm", randperm},
    {"uniform", uniform_op},
    {"normal", normal},
    {"normal_functional", normal},
    {"log_normal", log_normal},
    {"exponential", exponential_op},
    {"cauchy", cauchy},
    {"geometric", geometric},
    {"bernoulli", bernoulli_op},
    {"multinomial", multinomial_op},
    {"dropout", dropout_op<false, false>},
    {"feature_dropout", dropout_op<true, false>},
    {"alpha_dropout", dropout_op<false, true>},
    {"feature_alpha_dropout", dropout_op<true, true>},
    {"native_dropout", native_dropout},
    {"rrelu", rrelu, HalfPrecision::in_f32},
    {"rrelu_with_noise", rrelu, HalfPrecision::in_f32},
};

}  // namespace

std::span<const AtenEntry> random_entries() { return random_table; }

}  // namespace tenon::converter
