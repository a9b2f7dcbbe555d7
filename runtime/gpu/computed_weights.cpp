#include "runtime/gpu/computed_weights.h"

#include <fmt/ranges.h>

#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

// Of [groups, columns, depths, spatial axes], or where the convolution is transposed of [groups, depths,
// columns, spatial axes].
Order axes_of(const std::array<WeightAxis, 4>& order, bool is_transposed, std::size_t rank) {
  Order axes;
  for (const WeightAxis axis : order) switch (axis) {
      case WeightAxis::groups: axes.push_back(0); break;
      case WeightAxis::columns: axes.push_back(is_transposed ? 2 : 1); break;
      case WeightAxis::depths: axes.push_back(is_transposed ? 1 : 2); break;
      case WeightAxis::taps:
        for (std::size_t i = 3; i < rank; ++i) axes.push_back(static_cast<std::int64_t>(i));
    }
  return axes;
}

}  // namespace

PlannedTensor computed_weights(Planner& planner, const ConvCall& call,
                               const std::array<WeightAxis, 4>& order) {
  const std::int64_t groups = call.shape.groups;
  const PlannedTensor weights = planner.assignment().at(call.weights_value);
  Index sizes = weights.shape();
  sizes[0] /= groups;
  sizes.insert(sizes.begin(), groups);
  const Order axes = axes_of(order, call.shape.transposed, sizes.size());
  const PlannedTensor from = weights.view_as(sizes).permute(axes);
  return planner.derived({call.weights_value},
                         fmt::format("weights of {} groups as {}", groups, fmt::join(axes, " ")),
                         [&] { return dense(planner, from); });
}

}  // namespace tenon::gpu
