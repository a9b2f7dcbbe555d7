// Arithmetic, comparisons and activations that are not one to one.
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "exporter/onnx/table.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/functions.h"
#include "ir/ops/logic.h"
#include "ir/ops/math.h"

namespace tenon::exporter::onnx {
namespace {

using Refs = std::span<const Ref>;

OnnxValues operands_of(OnnxWriter& w, const Node& n) {
  OnnxValues out;
  for (const Value* v : n.inputs()) out.push_back(w.value(v));
  return out;
}

bool write_cast(OnnxWriter& w, const Node& n) {
  w.set(n.output(), w.cast(w.value(n.input()), n.as<Cast>()->to));
  return true;
}

bool write_not_equal(OnnxWriter& w, const Node& n) {
  w.set(n.output(), w.add("Not", {w.add("Equal", operands_of(w, n), {}, DType::boolean)}));
  return true;
}

/// ONNX divides whole numbers towards zero.
bool write_trunc_div(OnnxWriter& w, const Node& n) {
  if (is_float(n.output()->dtype())) return false;
  w.set(n.output(), w.add("Div", operands_of(w, n)));
  return true;
}
std::vector<Ref> trunc_div(const Node&, Refs in) { return {apply(Trunc{}, {in[0] / in[1]})}; }

/// Of whole numbers it is what their quotient leaves: ONNX Runtime's Mod takes them for doubles.
bool write_fmod(OnnxWriter& w, const Node& n) {
  if (!is_float(n.output()->dtype())) return false;
  w.set(n.output(), w.add("Mod", operands_of(w, n), {{"fmod", std::int64_t{1}}}));
  return true;
}

std::vector<Ref> rest_of_division(const Node&, Refs in) {
  return {in[0] - apply(TruncDiv{}, {in[0], in[1]}) * in[1]};
}

Ref has_other_sign(const Ref& rest, const Ref& divisor) {
  const Ref zero = rest.literal(0);
  return logical_and(not_equal(rest, zero), not_equal(rest < zero, divisor < zero));
}

/// Whole numbers are ONNX's Mod.
std::vector<Ref> remainder(const Node&, Refs in) {
  const Ref rest = apply(Fmod{}, {in[0], in[1]});
  return {where(has_other_sign(rest, in[1]), rest + in[1], rest)};
}

/// The exact floor of the exact quotient (base/scalar.h).
std::vector<Ref> floor_div(const Node&, Refs in) {
  const Ref rest = apply(Fmod{}, {in[0], in[1]});
  if (!is_float(in[0].dtype())) {
    const Ref quotient = apply(TruncDiv{}, {in[0], in[1]});
    return {where(has_other_sign(rest, in[1]), quotient - 1.0, quotient)};
  }
  const Ref exact = (in[0] - rest) / in[1];
  const Ref quotient = where(has_other_sign(rest, in[1]), exact - 1.0, exact);
  const Ref below = floor(quotient);
  const Ref rounded = where(quotient - below > below.literal(0.5), below + 1.0, below);
  return {where(equal(in[1], in[1].literal(0)), in[0] / in[1], rounded)};
}

/// The other one where one is NaN.
template <class Op>
std::vector<Ref> without_nan(const Node&, Refs in) {
  const Ref both = apply(Op{}, {in[0], in[1]});
  if (!is_float(in[0].dtype())) return {both};
  const auto is_nan = [](const Ref& r) { return apply(IsNan{}, {r}); };
  return {where(is_nan(in[0]), in[1], where(is_nan(in[1]), in[0], both))};
}

/// ONNX's is NaN of NaN, PyTorch's zero.
bool write_sign(OnnxWriter& w, const Node& n) {
  const OnnxValue x = w.value(n.input()), sign = w.add("Sign", {x});
  w.set(n.output(), is_float(x.dtype) ? w.add("Where", {w.add("IsNaN", {x}, {}, DType::boolean),
                                                        w.number(0, x.dtype), sign})
                                      : sign);
  return true;
}

bool write_clamp(OnnxWriter& w, const Node& n) {
  const auto& op = *n.as<Clamp>();
  const OnnxValue x = w.value(n.input());
  const auto bound = [&](const std::optional<double>& b) { return b ? w.number(*b, x.dtype) : OnnxValue{}; };
  w.set(n.output(), w.add("Clip", {x, bound(op.min), bound(op.max)}));
  return true;
}

bool write_hardsigmoid(OnnxWriter& w, const Node& n) {
  if (n.output()->dtype() == DType::f64) return false;
  w.set(n.output(), w.add("HardSigmoid", {w.value(n.input())}, {{"alpha", 1.0 / 6}, {"beta", 0.5}}));
  return true;
}

/// The slope may only be stretched to x.
bool write_prelu(OnnxWriter& w, const Node& n) {
  if (n.output()->shape() != n.input(0)->shape() || n.output()->dtype() == DType::f64) return false;
  w.set(n.output(), w.add("PRelu", operands_of(w, n)));
  return true;
}

bool write_pow(OnnxWriter& w, const Node& n) {
  if (!is_float(n.output()->dtype())) return false;
  w.set(n.output(), w.add("Pow", operands_of(w, n)));
  return true;
}

/// Whole numbers wrap around; ONNX Runtime's power of them is that of floats.
std::vector<Ref> pow_of(const Node&, Refs in) {
  constexpr std::int64_t most = 64;
  const Value* exponent = in[1].value();
  const bool is_literal = exponent->kind() == Value::Kind::literal;
  if (!is_literal || exponent->tensor().get_int() < 1 || exponent->tensor().get_int() > most)
    throw unsupported("whole numbers to a power that the model computes");
  std::optional<Ref> product;
  Ref square = in[0];
  for (std::int64_t left = exponent->tensor().get_int(); left > 0; left >>= 1) {
    if (left & 1) product = product ? *product * square : square;
    if (left > 1) square = square * square;
  }
  return {*product};
}

std::vector<Ref> rsqrt_of(const Node&, Refs in) { return {reciprocal(sqrt(in[0]))}; }
std::vector<Ref> exp2_of(const Node&, Refs in) { return {pow(in[0].literal(2), in[0])}; }
std::vector<Ref> log2_of(const Node&, Refs in) { return {log(in[0]) * (1 / std::numbers::ln2)}; }
std::vector<Ref> log10_of(const Node&, Refs in) { return {log(in[0]) * (1 / std::numbers::ln10)}; }

/// Near zero by tanh: exp(x) - 1 = 2 t / (1 - t) for t = tanh(x / 2).
std::vector<Ref> expm1_of(const Node&, Refs in) {
  const Ref& x = in[0];
  const Ref t = tanh(x * 0.5);
  return {where(abs(x) < x.literal(1), t * 2.0 / (1.0 - t), exp(x) - 1.0)};
}

/// log(u) x / (u - 1) for u = 1 + x as it is rounded. Source: W. Kahan, cited by D. Goldberg, What every
/// computer scientist should know about floating-point arithmetic, theorem 4.
std::vector<Ref> log1p_of(const Node&, Refs in) {
  const Ref& x = in[0];
  const Ref u = x + 1.0;
  const Ref rounded = u - 1.0;
  const Ref is_exact = equal(rounded, x);  // where x is infinite, too
  return {where(equal(rounded, x.literal(0)), x, where(is_exact, log(u), log(u) * (x / rounded)))};
}

std::vector<Ref> trunc_of(const Node&, Refs in) {
  if (!is_float(in[0].dtype())) return {in[0]};
  return {where(in[0] < in[0].literal(0), apply(Ceil{}, {in[0]}), floor(in[0]))};
}

/// Whole numbers are rounded already, and neither NaN nor infinite.
std::vector<Ref> itself(const Node&, Refs in) { return {in[0]}; }
std::vector<Ref> never(const Node&, Refs in) { return {not_equal(in[0], in[0])}; }

std::vector<Ref> isfinite_of(const Node&, Refs in) {
  const Ref& x = in[0];
  if (!is_float(x.dtype())) return {equal(x, x)};
  return {logical_not(apply(LogicalOr{}, {apply(IsInf{}, {x}), apply(IsNan{}, {x})}))};
}

bool write_bit_not(OnnxWriter& w, const Node& n) {
  const OnnxValue x = w.value(n.input());
  w.set(n.output(), w.add(x.dtype == DType::boolean ? "Not" : "BitwiseNot", {x}));
  return true;
}

/// Minus zero is what divides one into minus infinity.
Ref sign_bit(const Ref& x) {
  const Ref zero = x.literal(0);
  const Ref below = x < zero;
  if (!is_float(x.dtype())) return below;
  return logical_or(below, logical_and(equal(x, zero), reciprocal(x) < zero));
}
std::vector<Ref> signbit_of(const Node&, Refs in) { return {sign_bit(in[0])}; }
std::vector<Ref> copysign_of(const Node&, Refs in) {
  const Ref size = abs(in[0]);
  return {where(sign_bit(in[1]), -size, size)};
}

/// In two steps, each a power of two that a float holds.
std::vector<Ref> ldexp_of(const Node&, Refs in) {
  const Ref half = floor(in[1] * 0.5);
  const auto power = [](const Ref& exponent) { return pow(exponent.literal(2), exponent); };
  return {in[0] * power(half) * power(in[1] - half)};
}

/// ONNX shifts numbers without a sign; bits that go to the left have none.
bool write_shift(OnnxWriter& w, const Node& n, const char* direction, bool keeps_sign) {
  const DType dtype = n.output()->dtype();
  const bool is_unsigned =
      dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 || dtype == DType::u64;
  if (keeps_sign && !is_unsigned) return false;
  OnnxValues in = operands_of(w, n);
  for (OnnxValue& o : in) o = w.cast(o, DType::u64);
  w.set(n.output(), w.cast(w.add("BitShift", in, {{"direction", std::string(direction)}}), dtype));
  return true;
}
bool write_shift_left(OnnxWriter& w, const Node& n) { return write_shift(w, n, "LEFT", false); }
bool write_shift_right(OnnxWriter& w, const Node& n) { return write_shift(w, n, "RIGHT", true); }

/// The floor of a / 2^b; far to the right the sign is left.
std::vector<Ref> shift_right_of(const Node&, Refs in) {
  const Ref a = cast(DType::i64, in[0]), b = cast(DType::i64, in[1]);
  const Ref zero = b.literal(0), is_far = logical_or(b<zero, b> b.literal(62));
  const Ref power = apply(ShiftLeft{}, {b.literal(1), where(is_far, zero, b)});
  const Ref sign = where(a < a.literal(0), a.literal(-1), 0);
  return {cast(in[0].dtype(), where(is_far, sign, apply(FloorDiv{}, {a, power})))};
}

}  // namespace

std::span<const OnnxExportEntry> pointwise_entries() {
  static constexpr std::array entries = {
      OnnxExportEntry{.name = "div", .mapping = "Div(a, b)"},
      OnnxExportEntry{.name = "maximum", .mapping = "Max(a, b)"},
      OnnxExportEntry{.name = "minimum", .mapping = "Min(a, b)"},
      OnnxExportEntry{"pow", write_pow, pow_of},
      OnnxExportEntry{.name = "selu", .mapping = "Selu(x)"},
      OnnxExportEntry{"bit_not", write_bit_not},
      OnnxExportEntry{"cast", write_cast},
      OnnxExportEntry{"ceil", nullptr, itself},
      OnnxExportEntry{"clamp", write_clamp},
      OnnxExportEntry{"copysign", nullptr, copysign_of},
      OnnxExportEntry{"exp2", nullptr, exp2_of},
      OnnxExportEntry{"expm1", nullptr, expm1_of},
      OnnxExportEntry{"floor", nullptr, itself},
      OnnxExportEntry{"floor_div", nullptr, floor_div},
      OnnxExportEntry{"fmax", nullptr, without_nan<Maximum>},
      OnnxExportEntry{"fmin", nullptr, without_nan<Minimum>},
      OnnxExportEntry{"fmod", write_fmod, rest_of_division},
      OnnxExportEntry{"hardsigmoid", write_hardsigmoid},
      OnnxExportEntry{"isfinite", nullptr, isfinite_of},
      OnnxExportEntry{"isinf", nullptr, never},
      OnnxExportEntry{"isnan", nullptr, never},
      OnnxExportEntry{"ldexp", nullptr, ldexp_of},
      OnnxExportEntry{"log10", nullptr, log10_of},
      OnnxExportEntry{"log1p", nullptr, log1p_of},
      OnnxExportEntry{"log2", nullptr, log2_of},
      OnnxExportEntry{"not_equal", write_not_equal},
      OnnxExportEntry{"prelu", write_prelu},
      OnnxExportEntry{"remainder", nullptr, remainder},
      OnnxExportEntry{"round", nullptr, itself},
      OnnxExportEntry{"rsqrt", nullptr, rsqrt_of},
      OnnxExportEntry{"shift_left", write_shift_left},
      OnnxExportEntry{"shift_right", write_shift_right, shift_right_of},
      OnnxExportEntry{"sign", write_sign},
      OnnxExportEntry{"signbit", nullptr, signbit_of},
      OnnxExportEntry{"trunc", nullptr, trunc_of},
      OnnxExportEntry{"trunc_div", write_trunc_div, trunc_div},
  };
  return entries;
}

}  // namespace tenon::exporter::onnx
