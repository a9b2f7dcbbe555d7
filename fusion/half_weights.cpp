#include "fusion/half_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tenon {
namespace {

bool all_finite(const Tensor& t) {
  const Tensor floats = t.to(DType::f32).contiguous();
  return std::all_of(floats.data<float>(), floats.data<float>() + t.numel(),
                     [](float x) { return std::isfinite(x); });
}

}  // namespace

std::string half_refusal(const Value& weight, DType half) {
  if (!all_finite(weight.tensor()))
    return fmt::format("@{} has an element that is not finite", weight.name());
  if (!all_finite(weight.tensor().to(half)))
    return fmt::format("@{} has an element that {} cannot hold", weight.name(), name(half));
  return {};
}

Ref half_weight(const Value& weight, DType half, const InsertionPoint& point) {
  Graph& graph = point.region->graph();
  return {graph.add_weight(fmt::format("{}.{}", weight.name(), name(half)), weight.tensor().to(half)), point};
}

}  // namespace tenon
