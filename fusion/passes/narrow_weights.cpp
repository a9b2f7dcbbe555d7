// Weights of linears and matmuls in fewer bits, where the caller asks for it (FuseOptions::weights):
//   linear(x, @w) = linear(x, cast(@w.codes) * @w.scales)        up to the rounding of w
//   linear(x, @w) = linear(x, cast(@w.bf16))
#include <algorithm>
#include <cmath>
#include <map>

#include "compose/packed_bits.h"
#include "fusion/passes.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/conv.h"
#include "ir/ops/functions.h"
#include "ir/ops/linear.h"

namespace tenon {
namespace {

constexpr std::string_view narrowing = "narrow_weight";
constexpr std::int64_t group = 32;             // consecutive k that share a scale, in 4 bits
constexpr std::int64_t fewest_numbers = 4096;  // in a matrix: fewer take no time

// A matrix as rows of k, one for each column of the product.
struct Rows {
  std::int64_t count, depth;
  std::vector<float> numbers;
};

Rows rows_of(const Tensor& weight, bool is_linear) {
  const Tensor t = (is_linear ? weight : weight.permute(Index{1, 0})).contiguous();
  return {t.shape()[0], t.shape()[1], {t.data<float>(), t.data<float>() + t.numel()}};
}

// Of the number that is farthest from 0, with its sign.
float farthest(const float* begin, std::int64_t count) {
  return *std::max_element(begin, begin + count, [](float a, float b) { return std::abs(a) < std::abs(b); });
}

int code_of(float x, float scale, int low, int high) {
  return scale == 0 ? 0 : std::clamp(static_cast<int>(std::nearbyint(x / scale)), low, high);
}

// From -127 to 127, one scale a row: [rows, depth].
Ref in_8_bits(const Rows& rows, const std::string& name, const InsertionPoint& point) {
  Tensor codes = Tensor::empty(DType::i8, {rows.count, rows.depth}),
         scales = Tensor::empty(DType::f32, {rows.count, 1});
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const float* const row = rows.numbers.data() + r * rows.depth;
    const float scale = std::abs(farthest(row, rows.depth)) / 127;
    scales.mutable_data<float>()[r] = scale;
    for (std::int64_t k = 0; k < rows.depth; ++k)
      codes.mutable_data<std::int8_t>()[r * rows.depth + k] =
          static_cast<std::int8_t>(code_of(row[k], scale, -127, 127));
  }
  Graph& graph = point.region->graph();
  const Ref held(graph.add_weight(name + ".codes", std::move(codes)), point);
  return cast(DType::f32, held) * Ref(graph.add_weight(name + ".scales", std::move(scales)), point);
}

// From -8 to 7, two in a byte, one scale for each group of a row. The number that is farthest from 0 becomes
// -8.
Ref in_4_bits(const Rows& rows, const std::string& name, const InsertionPoint& point) {
  const std::int64_t groups = rows.depth / group;
  Tensor bytes = Tensor::zeros(DType::u8, {rows.count, groups, group / 2});
  Tensor scales = Tensor::empty(DType::f32, {rows.count, groups, 1});
  auto* const packed = bytes.mutable_data<std::uint8_t>();
  for (std::int64_t g = 0; g < rows.count * groups; ++g) {
    const float* const numbers = rows.numbers.data() + g * group;
    const float scale = farthest(numbers, group) / -8;
    scales.mutable_data<float>()[g] = scale;
    for (std::int64_t k = 0; k < group; ++k)
      packed[(g * group + k) / 2] |=
          static_cast<std::uint8_t>((code_of(numbers[k], scale, -8, 7) + 8) << (k % 2 * 4));
  }
  Graph& graph = point.region->graph();
  const Ref held(graph.add_weight(name + ".codes", std::move(bytes)), point);
  const Ref codes = cast(DType::f32, unpacked(held, 4)) - 8.0;
  const Ref numbers = codes * Ref(graph.add_weight(name + ".scales", std::move(scales)), point);
  return reshape(numbers, {Dim(rows.count), Dim(rows.depth)});
}

// The 16-bit type; nullopt for integers.
std::optional<DType> half_of(WeightPrecision precision) {
  if (precision == WeightPrecision::bf16) return DType::bf16;
  if (precision == WeightPrecision::f16) return DType::f16;
  return std::nullopt;
}

bool all_finite(const Tensor& t) {
  const Tensor floats = t.to(DType::f32).contiguous();
  return std::all_of(floats.data<float>(), floats.data<float>() + t.numel(),
                     [](float x) { return std::isfinite(x); });
}

std::string refusal(const Value& weight, bool is_linear, WeightPrecision precision) {
  if (weight.dtype() != DType::f32) return "@" + weight.name() + " is " + std::string(name(weight.dtype()));
  const Tensor& t = weight.tensor();
  if (t.numel() < fewest_numbers) return "@" + weight.name() + " is small";
  if (!all_finite(t)) return "@" + weight.name() + " has an element that is not finite";
  if (const auto half = half_of(precision); half && !all_finite(t.to(*half)))
    return "@" + weight.name() + " has an element that " + std::string(name(*half)) + " cannot hold";
  const std::int64_t depth = t.shape()[is_linear ? 1 : 0];
  if (precision == WeightPrecision::int4 && depth % group != 0)
    return "the depth of @" + weight.name() + " is no multiple of 32";
  return {};
}

// A weight whose precision may change.
bool is_candidate(const Node& node, WeightPrecision precision) {
  const bool is_conv = half_of(precision) && (node.is<Conv>() || node.is<ConvTranspose>());
  if (!node.is<Linear>() && !node.is<MatMul>() && !is_conv) return false;
  const Value& weight = *node.input(1);
  return weight.kind() == Value::Kind::weight && weight.tensor().defined() && (is_conv || weight.rank() == 2);
}

Ref narrowed(const Value& weight, bool is_linear, WeightPrecision precision, const InsertionPoint& point) {
  if (const auto half = half_of(precision)) {
    Graph& graph = point.region->graph();
    const std::string held = weight.name() + "." + std::string(name(*half));
    return cast(DType::f32, Ref(graph.add_weight(held, weight.tensor().to(*half)), point));
  }
  const Rows rows = rows_of(weight.tensor(), is_linear);
  const Ref numbers = precision == WeightPrecision::int4 ? in_4_bits(rows, weight.name(), point)
                                                         : in_8_bits(rows, weight.name(), point);
  return is_linear ? numbers : transpose(numbers, 0, 1);
}

void narrow(Rewriter& rewriter) {
  const WeightPrecision precision = rewriter.weights();
  if (precision == WeightPrecision::kept) return;
  std::map<std::pair<const Value*, bool>, Value*> done;  // by weight, and whether a linear reads it
  for (const auto& node : rewriter.region().nodes()) {
    if (!is_candidate(*node, precision)) continue;
    const Value& weight = *node->input(1);
    const bool is_linear = node->is<Linear>();
    if (std::string reason = refusal(weight, is_linear, precision); !reason.empty()) {
      rewriter.refuse(narrowing, *node, std::move(reason));
      continue;
    }
    if (!rewriter.allowed(narrowing, *node)) continue;
    const InsertionPoint point{&rewriter.region(), node.get(), node->source};
    Value*& shared = done[{&weight, is_linear && !half_of(precision)}];
    if (!shared) shared = narrowed(weight, is_linear, precision, point).value();
    node->set_input(1, shared);
    rewriter.record(narrowing, node->source, node.get());
  }
}

}  // namespace

std::optional<WeightPrecision> weight_precision(std::string_view text) {
  using enum WeightPrecision;
  for (const auto precision : {bf16, f16, int8, int4})
    if (text == name(precision)) return precision;
  return std::nullopt;
}

std::string_view name(WeightPrecision precision) {
  switch (precision) {
    case WeightPrecision::kept: return "";
    case WeightPrecision::bf16: return "bf16w";
    case WeightPrecision::f16: return "f16w";
    case WeightPrecision::int8: return "int8w";
    case WeightPrecision::int4: return "int4w";
  }
  return "";
}

Pass narrow_weights() { return {"narrow_weights", {narrowing}, narrow}; }

}  // namespace tenon
