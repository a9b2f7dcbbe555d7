// Arithmetic, comparisons and activations that are not one to one.
#include <array>
#include <cmath>

#include "base/error.h"
#include "converter/onnx/element_type.h"
#include "converter/onnx/mapping.h"
#include "converter/onnx/narrow.h"
#include "converter/onnx/round_trip.h"
#include "converter/onnx/table.h"
#include "ir/ops/activation.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/text.h"

namespace tenon::converter::onnx {

namespace {

bool is_whole(const Ref& r) { return is_integral(r.dtype()); }

/// The left fold of a binary operator over all operands.
template <class Op>
Operands folded(const Call& call) {
  const auto all = pointwise_operands(call, 1);
  Ref out = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) out = apply(Op{}, {out, all[i]});
  return {out};
}

Operands mean_of(Call& call) {
  const auto all = pointwise_operands(call, 1);
  Ref out = all[0];
  for (std::size_t i = 1; i < all.size(); ++i) out = out + all[i];
  return {out / static_cast<double>(all.size())};
}

Operands sum_of(Call& call) { return folded<Add>(call); }
Operands min_of(Call& call) { return folded<Minimum>(call); }
Operands max_of(Call& call) { return folded<Maximum>(call); }

/// Integers are divided as in C.
Operands divide(Call& call) {
  const auto in = pointwise_operands(call, 2);
  return {is_whole(in[0]) ? apply(TruncDiv{}, {in[0], in[1]}) : in[0] / in[1]};
}

Operands modulo(Call& call) {
  const auto in = pointwise_operands(call, 2);
  const bool as_in_c = call.integer("fmod", 0) != 0;
  return {as_in_c ? apply(Fmod{}, {in[0], in[1]}) : apply(Remainder{}, {in[0], in[1]})};
}

/// The base's dtype is the result's.
Operands power(Call& call) {
  const auto in = pointwise_operands(call, 2);
  const DType base = in[0].dtype(), exponent = in[1].dtype();
  if (base == exponent) return {pow(in[0], in[1])};
  if (is_float(base)) return {pow(in[0], cast(base, in[1]))};
  if (is_float(exponent)) return {cast(base, pow(cast(DType::f64, in[0]), cast(DType::f64, in[1])))};
  return {pow(in[0], cast(base, in[1]))};
}

/// Bounds are attributes until operator set 10, then operands; a known one becomes an attribute of ours.
Operands clip(Call& call) {
  Ref x = call.tensor(0);
  Clamp known;
  std::array<Ref, 2> unknown;
  for (const std::size_t i : {0, 1}) {
    std::optional<double>& bound = i == 0 ? known.min : known.max;
    const std::string_view name = i == 0 ? "min" : "max";
    if (call.has(name)) {
      bound = call.number(name, 0);
    } else if (call.has(i + 1)) {
      const auto data = call.values.data(call.operand(i + 1));
      const bool exact = data && data->numel() == 1 && (is_float(x.dtype()) || size_of(x.dtype()) < 8);
      if (exact)
        bound = data->dtype() == DType::f32
                    ? round_trip_double(static_cast<float>(data->reshape({}).get_double()))
                    : data->reshape({}).get_double();
      else
        unknown[i] = reshape(call.tensor(i + 1), {});
    }
  }
  if (known.min && known.max && *known.min > *known.max) known.min = known.max;
  const bool lower_first = unknown[0] || unknown[1];
  if (!lower_first) return {known.min || known.max ? apply(known, {x}) : x};
  if (unknown[0]) x = maximum(x, unknown[0]);
  if (known.min) x = apply(Clamp{.min = known.min}, {x});
  if (unknown[1]) x = minimum(x, unknown[1]);
  if (known.max) x = apply(Clamp{.max = known.max}, {x});
  return {x};
}

/// Strings are written and read as numbers.
Ref converted(DType to, const Ref& x) {
  if (x.dtype() == to) return x;
  if (is_string(to)) return apply(ToString{}, {x});
  if (is_string(x.dtype())) return apply(ParseNumber{.to = to}, {x});
  return cast(to, x);
}

Operands cast_to(Call& call) {
  const std::int64_t to = call.element_type("to");
  if (is_narrow(to)) return {narrowed(call, call.tensor(0), to)};
  return {converted(call.dtype("to"), call.tensor(0))};
}
Operands cast_like(Call& call) {
  call.need(2);
  const Operand& like = call.operand(1);
  if (like.narrow != 0) return {narrowed(call, call.tensor(0), like.narrow)};
  return {converted(like.type().dtype, call.tensor(0))};
}

/// ONNX's is NaN of NaN, PyTorch's zero.
Operands sign_of(Call& call) {
  const Ref x = call.tensor(0), sign = tenon::sign(x);
  return {is_float(x.dtype()) ? where(apply(IsNan{}, {x}), x, sign) : sign};
}

Operands bit_cast(Call& call) {
  const Ref x = call.tensor(0);
  const DType to = call.dtype("to");
  if (is_narrow(call.element_type("to")) || call.operand(0).narrow != 0)
    throw unsupported("the bits of a type of less than 16 bits");
  if (size_of(x.dtype()) != size_of(to))
    throw error("the bits of {} as {}, which has another size", name(x.dtype()), name(to));
  // Of whole numbers they are the number itself, which fuses with its neighbours.
  const bool are_whole = is_integral(x.dtype()) && is_integral(to);
  return {are_whole && size_of(x.dtype()) == size_of(to) ? cast(to, x) : bitcast(to, x)};
}

Operands bit_shift(Call& call) {
  const auto in = pointwise_operands(call, 2);
  const std::string direction = call.text("direction", "");
  if (direction == "LEFT") return {apply(ShiftLeft{}, {in[0], in[1]})};
  if (direction == "RIGHT") return {apply(ShiftRight{}, {in[0], in[1]})};
  throw error("its direction is '{}', not LEFT or RIGHT", direction);
}

Operands is_infinite(Call& call) {
  const Ref x = call.tensor(0);
  const bool up = call.integer("detect_positive", 1) != 0, down = call.integer("detect_negative", 1) != 0;
  const Ref any = apply(IsInf{}, {x});
  if (up && down) return {any};
  if (!up && !down) return {logical_and(any, logical_not(any))};
  const Ref zero = x.literal(0);
  return {logical_and(any, up ? x > zero : x < zero)};
}

Operands selu(Call& call) {
  const Ref x = call.tensor(0);
  if (!call.has("alpha") && !call.has("gamma")) return {apply(Selu{}, {x})};
  return {apply(Elu{.alpha = call.number("alpha", 1.67326319217681884765625),
                    .scale = call.number("gamma", 1.05070102214813232421875)},
                {x})};
}

Operands hard_sigmoid(Call& call) {
  const Ref x = call.tensor(0);
  const double alpha = call.number("alpha", 0.2), beta = call.number("beta", 0.5);
  if (std::abs(alpha - 1.0 / 6) < 1e-7 && beta == 0.5) return {apply(Hardsigmoid{}, {x})};
  return {apply(Clamp{.min = 0, .max = 1}, {x * alpha + beta})};
}

/// Until operator set 6 a slope of rank 1 is that of the channels.
Operands prelu(Call& call) {
  const Ref x = call.tensor(0);
  Ref slope = call.tensor(1);
  if (call.version < 7 && slope.rank() == 1 && x.rank() > 2) {
    Shape channels(x.rank() - 1, Dim(1));
    channels[0] = slope.shape()[0];
    slope = reshape(slope, channels);
  }
  return {apply(Prelu{}, {x, slope})};
}

Operands thresholded_relu(Call& call) {
  const double alpha = call.number("alpha", 1);
  return {apply(Threshold{.threshold = alpha, .replacement = 0}, {call.tensor(0)})};
}

Operands shrink(Call& call) {
  const Ref x = call.tensor(0);
  const double lambda = call.number("lambd", 0.5), bias = call.number("bias", 0);
  const Ref zero = x.literal(0);
  return {where(x < x.literal(-lambda), x + bias, where(x > x.literal(lambda), x - bias, zero))};
}

Operands swish(Call& call) {
  const Ref x = call.tensor(0);
  const double alpha = call.number("alpha", 1);
  return {alpha == 1 ? silu(x) : x * sigmoid(x * alpha)};
}

Operands swiglu(Call& call) {
  const Ref gate = call.tensor(0);
  const double alpha = call.number("alpha", 1);
  return {(alpha == 1 ? silu(gate) : gate * sigmoid(gate * alpha)) * call.tensor(1)};
}

Operands bias_gelu(Call& call) { return {apply(Gelu{}, {call.tensor(0) + call.tensor(1)})}; }
Operands fast_gelu(Call& call) {
  const Ref x = call.has(1) ? call.tensor(0) + call.tensor(1) : call.tensor(0);
  return {apply(Gelu{.approximate = GeluForm::tanh}, {x})};
}
Operands quick_gelu(Call& call) {
  const Ref x = call.tensor(0);
  return {x * sigmoid(x * call.number("alpha", 1.702))};
}

Operands bias_add(Call& call) { return {call.tensor(0) + call.tensor(1) + call.tensor(2)}; }

/// One half of the last axis times the GELU of the other.
Operands bias_split_gelu(Call& call) {
  const Ref x = call.tensor(0) + call.tensor(1);
  if (x.rank() == 0) throw error("a tensor of rank 0");
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const Dim& size = x.shape().back();
  const Dim half = floor_div(size, Dim(2));
  return {slice(x, last, Dim(0), half) * apply(Gelu{}, {slice(x, last, half, size)})};
}

/// Pairs on the last axis are the real and the imaginary part.
Operands complex_product(const Call& call, bool conjugates) {
  const Ref a = call.tensor(0), b = call.tensor(1);
  const auto part = [](const Ref& x, std::int64_t i) {
    return slice(x, static_cast<std::int64_t>(x.rank()) - 1, Dim(i), Dim(i + 1));
  };
  const Ref imaginary = conjugates ? -part(b, 1) : part(b, 1);
  const std::array y = {part(a, 0) * part(b, 0) - part(a, 1) * imaginary,
                        part(a, 0) * imaginary + part(a, 1) * part(b, 0)};
  return {concat(y, static_cast<std::int64_t>(y[0].rank()) - 1)};
}
Operands complex_mul(Call& call) { return complex_product(call, false); }
Operands complex_mul_conj(Call& call) { return complex_product(call, true); }

Operands itself(Call& call) { return {call.operand(0)}; }

Operands binarizer(Call& call) {
  const Ref x = call.tensor(0);
  return {cast(x.dtype(), x > x.literal(call.number("threshold", 0)))};
}

}  // namespace

std::span<const OnnxEntry> pointwise_entries() {
  static constexpr std::array entries = {
      OnnxEntry{"BitCast", bit_cast},
      OnnxEntry{"BitShift", bit_shift},
      OnnxEntry{"Cast", cast_to},
      OnnxEntry{"CastLike", cast_like},
      OnnxEntry{"Clip", clip},
      OnnxEntry{"Div", divide},
      OnnxEntry{"HardSigmoid", hard_sigmoid},
      OnnxEntry{"Identity", itself},
      OnnxEntry{"IsInf", is_infinite},
      OnnxEntry{"Max", max_of},
      OnnxEntry{"Mean", mean_of},
      OnnxEntry{"Min", min_of},
      OnnxEntry{"Mod", modulo},
      OnnxEntry{"PRelu", prelu},
      OnnxEntry{"Pow", power},
      OnnxEntry{"Selu", selu},
      OnnxEntry{"Shrink", shrink},
      OnnxEntry{"Sign", sign_of},
      OnnxEntry{"Sum", sum_of},
      OnnxEntry{"SwiGLU", swiglu},
      OnnxEntry{"Swish", swish},
      OnnxEntry{"ThresholdedRelu", thresholded_relu},
      OnnxEntry{"ai.onnx.ml.Binarizer", binarizer},
      OnnxEntry{"com.microsoft.BiasAdd", bias_add},
      OnnxEntry{"com.microsoft.BiasGelu", bias_gelu},
      OnnxEntry{"com.microsoft.BiasSplitGelu", bias_split_gelu},
      OnnxEntry{"com.microsoft.ComplexMul", complex_mul},
      OnnxEntry{"com.microsoft.ComplexMulConj", complex_mul_conj},
      OnnxEntry{"com.microsoft.FastGelu", fast_gelu},
      OnnxEntry{"com.microsoft.Gelu",
                [](Call& call) -> Operands { return {apply(Gelu{}, {call.tensor(0)})}; }},
      OnnxEntry{"com.microsoft.QuickGelu", quick_gelu},
  };
  return entries;
}

}  // namespace tenon::converter::onnx
