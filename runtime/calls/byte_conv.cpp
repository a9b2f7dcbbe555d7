#include "runtime/calls/byte_conv.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/conv.h"
#include "runtime/calls/quantized_matmul.h"

namespace tenon {
namespace {

// A code without its zero point has 8 bits, and sums have 32.
bool fits(const CodeRange& codes, const NumberGrid& image, std::int64_t depth) {
  const std::int64_t least = codes.least_code - codes.largest_zero,
                     largest = codes.largest_code - codes.least_zero;
  if (least < -128 || largest > 127) return false;
  const double farthest = std::max(std::abs(image.least), std::abs(image.least + 255));
  return static_cast<double>(depth) * farthest * 128 < 2147483648.0;
}

// Padding is 0, which is to be one of the numbers.
bool holds_padding(const Node& node, const NumberGrid& image) {
  const auto* const conv = node.as<Conv>();
  return (image.least <= 0 && image.least >= -255) ||
         (conv && std::all_of(conv->pad.begin(), conv->pad.end(), [](std::int64_t pad) { return pad == 0; }));
}

}  // namespace

std::optional<ByteConvNumbers> ByteConvNumbers::of(const Node& node, const Group& group,
                                                   WeightStore& weights) {
  const bool is_transposed = node.is<ConvTranspose>();
  if ((!node.is<Conv>() && !is_transposed) || node.output()->dtype() != DType::f32) return std::nullopt;
  const Value* const x = node.input(0);
  const auto image = group.contains(x) ? grid_of(x, &group.node()) : grid_of(group.outer(x));
  if (!image || !holds_padding(node, *image)) return std::nullopt;
  auto filters = QuantizedMatrix::match_filters(group.outer(node.input(1)), is_transposed);
  const auto codes = filters ? code_range(weights, *filters) : std::nullopt;
  if (!codes || !fits(*codes, *image, filters->K())) return std::nullopt;
  return ByteConvNumbers{*image, std::move(*filters)};
}

std::optional<ByteConvCall> ByteConvCall::match(const Planner& planner, const Group& group) {
  auto conv = ConvCall::match_shape(group);
  if (!conv || conv->shape.flops() == 0) return std::nullopt;
  auto numbers = ByteConvNumbers::of(*conv->anchor, group, planner.weights());
  if (!numbers) return std::nullopt;
  return ByteConvCall{std::move(*conv), std::move(*numbers)};
}

}  // namespace tenon
