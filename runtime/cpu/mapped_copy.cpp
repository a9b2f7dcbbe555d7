// Padding of every kind and resizing to the nearest element, where they stand alone: copies by tables.
#include "kernels/cpu/mapped_copy.h"

#include <algorithm>

#include "ir/ops/axis_maps.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/shape.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class MappedCopyStep : public CpuStep {
 public:
  explicit MappedCopyStep(cpu::MappedCopy copy) : copy_(std::move(copy)) {}

  void compute(const CpuFrame& frame) const override {
    copy_.run(frame.at<const void>(x), frame.at<void>(y), frame.pool);
  }

  Address x, y;

 private:
  cpu::MappedCopy copy_;
};

std::vector<long> offsets_of(const AxisMap& map, std::int64_t stride) {
  std::vector<long> offsets;
  for (const std::int64_t place : map)
    offsets.push_back(place < 0 ? cpu::MappedCopy::outside : place * stride);
  return offsets;
}

void emit_mapped(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.assignment().at(node.input());
  const Order order = is_channels_last(x) || planner.assignment().read_channels_last(node.output())
                          ? channels_last(x.rank())
                          : row_major(x.rank());
  const PlannedTensor y = planner.assignment().assign(
      node.output(), order, [&](const PlannedTensor& t) { return t.permute(order).is_contiguous(); });
  const std::vector<std::size_t> axes = *mapped_axes(node);
  const AxisMaps maps = axis_maps(node);
  std::vector<std::vector<long>> offsets;
  for (const std::int64_t axis : order) {
    const auto at = static_cast<std::size_t>(axis);
    const auto mapped = std::find(axes.begin(), axes.end(), at);
    AxisMap map;
    if (mapped != axes.end())
      map = maps.axes[static_cast<std::size_t>(mapped - axes.begin())];
    else
      for (std::int64_t i = 0; i < x.shape()[at]; ++i) map.push_back(i);
    offsets.push_back(offsets_of(map, x.strides()[at]));
  }
  const Tensor fill = Tensor::scalar(x.dtype(), maps.fill);
  auto step =
      std::make_unique<MappedCopyStep>(cpu::MappedCopy(size_of(x.dtype()), std::move(offsets), fill.bytes()));
  step->x = x.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x}, {y});
}

std::vector<Candidate> lower_mapped(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const DType dtype = node.output()->dtype();
  if (!mapped_axes(node) || node.output()->rank() == 0 || is_string(dtype) || is_complex(dtype)) return {};
  const auto* resize = node.as<Interpolate>();
  if (numel(node.output()->shape()) == 0 || numel(node.input()->shape()) == 0 ||
      (resize && node.output()->rank() < 3))
    return {};
  const double bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type());
  constexpr double share = 0.9;  // one pass, of those that fill before they copy
  return {{{.kernel = "mapped copy", .work = {.bytes = bytes}, .seconds = share * planner.estimate(0, bytes)},
           emit_mapped}};
}

}  // namespace

std::vector<OpLowering> mapped_copy_lowerings() {
  return {{.op = &op_info<Pad>(), .lower = lower_mapped, .alone = true},
          {.op = &op_info<Interpolate>(), .lower = lower_mapped, .alone = true}};
}

}  // namespace tenon
