// Weights of linears and matmuls in fewer bits, where the caller asks for it (FuseOptions::precision):
//   linear(x, @w) = linear(x, cast(@w.codes) * @w.scales)        up to the rounding of w
//   linear(x, @w) = linear(x, cast(@w.bf16))
#include <algorithm>
#include <cmath>
#include <map>

#include "compose/packed_bits.h"
#include "fusion/half_weights.h"
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

std::string refusal(const Value& weight, bool is_linear, Precision precision) {
  if (weight.dtype() != DType::f32) return "@" + weight.name() + " is " + std::string(name(weight.dtype()));
  const Tensor& t = weight.tensor();
  if (t.numel() < fewest_numbers) return "@" + weight.name() + " is small";
  if (std::string reason = half_refusal(weight, half_of(precision).value_or(DType::f32)); !reason.empty())
    return reason;
  const std::int64_t depth = t.shape()[is_linear ? 1 : 0];
  if (precision == Precision::int4w && depth % group != 0)
    return "the depth of @" + weight.name() + " is no multiple of 32";
  return {};
}

// A weight whose precision may change.
bool is_candidate(const Node& node, Precision precision) {
  const bool is_conv = half_of(precision) && (node.is<Conv>() || node.is<ConvTranspose>());
  if (!node.is<Linear>() && !node.is<MatMul>() && !is_conv) return false;
  const Value& weight = *node.input(1);
  return weight.kind() == Value::Kind::weight && weight.tensor().defined() && (is_conv || weight.rank() == 2);
}

Ref narrowed(const Value& weight, bool is_linear, Precision precision, const InsertionPoint& point) {
  if (const auto half = half_of(precision)) return cast(DType::f32, half_weight(weight, *half, point));
  const Rows rows = rows_of(weight.tensor(), is_linear);
  const Ref numbers = precision == Precision::int4w ? in_4_bits(rows, weight.name(), point)
                                                    : in_8_bits(rows, weight.name(), point);
  return is_linear ? numbers : transpose(numbers, 0, 1);
}

void narrow(Rewriter& rewriter) {
  const Precision precision = rewriter.precision();
  if (!is_of_weights(precision)) return;
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

Pass narrow_weights() { return {"narrow_weights", {narrowing}, narrow}; }

}  // namespace tenon
