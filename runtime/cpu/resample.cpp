// Resizing, linear, cubic and antialiased, in float32 and float64.
#include "kernels/cpu/resample.h"

#include <algorithm>

#include "ir/flops.h"
#include "ir/ops/interpolate_taps.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

template <class T>
class ResampleStep : public CpuStep {
 public:
  ResampleStep(cpu::Resample<T> resample, int threads) : resample_(std::move(resample)) {
    scratch_bytes = cpu::resample_scratch_size(resample_, threads);
  }

  void compute(const CpuFrame& frame) const override {
    cpu::resample(resample_, frame.at<const T>(x), frame.at<T>(y), frame.scratch, frame.pool);
  }

  Address x, y;

 private:
  cpu::Resample<T> resample_;
};

/// Of a node that is one of the two.
std::vector<Taps> taps_of(const Node& node, std::size_t axis, std::int64_t in, std::int64_t out) {
  if (const auto* op = node.as<Interpolate>()) return taps_along(*op, node.input()->dtype(), axis, in, out);
  return taps_along(*node.as<InterpolateAntialiased>(), axis, in, out);
}

template <class T>
cpu::ResampleAxis<T> axis_of(const Node& node, std::size_t axis, std::int64_t in, std::int64_t out) {
  const std::vector<Taps> all = taps_of(node, axis, in, out);
  cpu::ResampleAxis<T> a{.in = in, .out = out, .taps = static_cast<long>(all.at(0).size())};
  for (std::size_t tap = 0; tap < all[0].size(); ++tap)
    for (const Taps& taps : all) {
      a.places.push_back(static_cast<std::int32_t>(taps[tap].place));
      a.weights.push_back(static_cast<T>(taps[tap].weight));
    }
  return a;
}

// A result of the graph lies row-major. To turn the image round before it grows moves less than after it.
bool grows_to_result(const Node& node) {
  const auto& uses = node.output()->uses();
  return bytes_of(node.output()->type()) > bytes_of(node.input()->type()) &&
         std::all_of(uses.begin(), uses.end(), [](const Use& use) { return !use.node; });
}

template <class T>
void emit_resample(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Strided& at = planner.assignment().layout(node.input());
  const bool last = !grows_to_result(node) &&
                    (is_channels_last(at) || planner.assignment().read_channels_last(node.output()));
  const Order order = last ? channels_last(at.rank()) : row_major(at.rank());
  const PlannedTensor x = planner.copied(node.input(), order, [&](const PlannedTensor& t) {
    const auto row = row_stride(t, order);  // sums of rows take gaps along
    return row && 4 * *row <= 5 * t.shape()[static_cast<std::size_t>(order.back())];
  });
  const PlannedTensor y = planner.assignment().assign_rows(node.output(), order);
  const std::int64_t channels = x.shape()[1];
  const auto strides = [&](const PlannedTensor& t) -> cpu::PixelStrides {
    const std::int64_t row = *row_stride(t, order);
    return last ? cpu::PixelStrides{row, row * t.shape().back()} : cpu::PixelStrides{1, row};
  };
  cpu::Resample<T> resample{.images = x.shape()[0] * (last ? 1 : channels),
                            .inner = last ? channels : 1,
                            .axes = {},
                            .in = strides(x),
                            .out = strides(y)};
  for (std::size_t axis = 2; axis < x.rank(); ++axis)
    resample.axes.push_back(axis_of<T>(node, axis - 2, x.shape()[axis], y.shape()[axis]));
  auto step = std::make_unique<ResampleStep<T>>(std::move(resample), planner.threads());
  step->x = x.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x}, {y});
}

std::vector<Candidate> lower_resample(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<Interpolate>();
  const DType dtype = node.input()->dtype();
  if ((dtype != DType::f32 && dtype != DType::f64) || node.input()->rank() < 3 ||
      (op && op->mode != InterpolateMode::linear && op->mode != InterpolateMode::cubic) ||
      numel(node.output()->shape()) == 0 || numel(node.input()->shape()) == 0)
    return {};
  const double bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type());
  const Work work{.flops = flops(node), .bytes = bytes};
  return {{{.kernel = "resample", .work = work, .seconds = planner.estimate(2 * work.flops, bytes)},
           dtype == DType::f32 ? emit_resample<float> : emit_resample<double>}};
}

}  // namespace

std::vector<OpLowering> resample_lowerings() {
  return {{.op = &op_info<Interpolate>(), .lower = lower_resample, .alone = true, .widens = true},
          {.op = &op_info<InterpolateAntialiased>(), .lower = lower_resample, .alone = true, .widens = true}};
}

}  // namespace tenon
