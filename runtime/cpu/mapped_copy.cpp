// Padding of every kind, resizing to the nearest element, and slices by known indices, where they stand
// alone: copies by tables.
#include "kernels/cpu/mapped_copy.h"

#include <algorithm>

#include "ir/ops/axis_maps.h"
#include "ir/ops/index.h"
#include "ir/ops/interpolate.h"
#include "ir/ops/shape.h"
#include "runtime/calls/gather.h"
#include "runtime/constant_value.h"
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

AxisMap every_place(std::int64_t count) {
  AxisMap places;
  for (std::int64_t i = 0; i < count; ++i) places.push_back(i);
  return places;
}

void emit_mapped(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.assignment().at(node.input());
  const Order order = is_channels_last(x) || planner.assignment().read_channels_last(node.output())
                          ? channels_last(x.rank())
                          : row_major(x.rank());
  const PlannedTensor y = planner.assignment().assign_rows(node.output(), order);
  const std::vector<std::size_t> axes = *mapped_axes(node);
  const AxisMaps maps = axis_maps(node);
  std::vector<std::vector<long>> offsets;
  for (const std::int64_t axis : order) {
    const auto at = static_cast<std::size_t>(axis);
    const auto mapped = std::find(axes.begin(), axes.end(), at);
    const AxisMap map = mapped != axes.end() ? maps.axes[static_cast<std::size_t>(mapped - axes.begin())]
                                             : every_place(x.shape()[at]);
    offsets.push_back(offsets_of(map, x.strides()[at]));
  }
  const Tensor fill = Tensor::scalar(x.dtype(), maps.fill);
  auto step = std::make_unique<MappedCopyStep>(
      cpu::MappedCopy(size_of(x.dtype()), std::move(offsets), fill.bytes(), *row_stride(y, order)));
  step->x = x.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x}, {y});
}

std::vector<Candidate> lower_mapped(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const DType dtype = node.output()->dtype();
  if (!mapped_axes(node) || node.output()->rank() == 0 || is_string(dtype) || size_of(dtype) > 8) return {};
  const auto* resize = node.as<Interpolate>();
  if (numel(node.output()->shape()) == 0 || numel(node.input()->shape()) == 0 ||
      (resize && node.output()->rank() < 3))
    return {};
  const double bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type());
  constexpr double share = 0.9;  // one pass, of those that fill before they copy
  return {{{.kernel = "mapped copy", .work = {.bytes = bytes}, .seconds = share * planner.estimate(0, bytes)},
           emit_mapped}};
}

/// The places that constant indices name, counted from the start; nullopt where they are not constant, too
/// many, or out of range.
std::optional<AxisMap> known_places(const GatherCall& call) {
  constexpr std::int64_t most = 1 << 20;
  const ConstantValue value(call.indices);
  if (call.count > most || !value.is_constant()) return std::nullopt;
  const Tensor indices = value.evaluate().to(DType::i64).contiguous();
  AxisMap places;
  for (std::int64_t i = 0; i < call.count; ++i) {
    const std::int64_t index = indices.data<std::int64_t>()[i];
    places.push_back(call.from_end && index < 0 ? index + call.table_rows : index);
    if (places.back() < 0 || places.back() >= call.table_rows) return std::nullopt;
  }
  return places;
}

void emit_slices(Planner& planner, const Group& group, const GatherCall& call, const AxisMap& places) {
  PlannedTensor x = planner.assignment().at(call.table);
  if (!strides_as(x, call.table_shape())) x = planner.dense(call.table);
  const Index strides = *strides_as(x, call.table_shape());
  const PlannedTensor y =
      planner.assignment().assign(group.node().output(), row_major(group.node().output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  const Tensor fill = Tensor::scalar(x.dtype(), 0.0);
  auto step = std::make_unique<MappedCopyStep>(
      cpu::MappedCopy(size_of(x.dtype()),
                      {offsets_of(every_place(call.outer), strides[0]), offsets_of(places, strides[1]),
                       offsets_of(every_place(call.row), 1)},
                      fill.bytes(), call.row));
  step->x = x.address();
  step->y = y.address();
  planner.emit(std::move(step), group.node(), {x}, {y});
}

std::vector<Candidate> lower_slices(const Planner& planner, const Group& group) {
  const auto call = GatherCall::match(group);
  if (!call || is_string(call->table->dtype()) || is_complex(call->table->dtype())) return {};
  constexpr std::int64_t most_listed = 1
                                       << 16;  // of larger slices and more of them a gather copies whole rows
  if (call->outer + call->row > most_listed) return {};
  const auto places = known_places(*call);
  if (!places) return {};
  const Work work{.bytes = 2 * bytes_of(group.node().output()->type())};
  const double copies = planner.estimate_copy(
      call->table, [&](const Strided& t) { return strides_as(t, call->table_shape()).has_value(); });
  return {{{.kernel = "mapped copy", .work = work, .seconds = copies + planner.estimate(0, work.bytes)},
           [=](Planner& p, const Group& g) { emit_slices(p, g, *call, *places); }}};
}

}  // namespace

std::vector<OpLowering> mapped_copy_lowerings() {
  return {{.op = &op_info<Pad>(), .lower = lower_mapped, .alone = true},
          {.op = &op_info<Interpolate>(), .lower = lower_mapped, .alone = true},
          {.op = &op_info<IndexSelect>(), .lower = lower_slices, .alone = true},
          {.op = &op_info<IndexAt>(), .lower = lower_slices, .alone = true}};
}

}  // namespace tenon
