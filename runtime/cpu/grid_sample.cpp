// Images read at computed places.
#include "kernels/cpu/grid_sample.h"

#include <limits>

#include "ir/flops.h"
#include "ir/ops/grid_sample.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

template <class T>
class GridSampleStep : public CpuStep {
 public:
  GridSampleStep(const cpu::GridSample<T>& sample, int threads) : sample_(sample) {
    scratch_bytes = cpu::grid_sample_scratch_size(sample_, threads);
  }

  void compute(const CpuFrame& frame) const override {
    cpu::GridSample<T> sample = sample_;
    sample.x = frame.at<const T>(x);
    sample.grid = frame.at<const T>(grid);
    sample.y = frame.at<T>(y);
    cpu::grid_sample(sample, frame.scratch, frame.pool);
  }

  Address x, grid, y;

 private:
  cpu::GridSample<T> sample_;
};

cpu::GridOutside outside_of(const GridSample& op) {
  switch (op.outside) {
    case Outside::border: return cpu::GridOutside::border;
    case Outside::reflection: return cpu::GridOutside::reflection;
    default: return cpu::GridOutside::zeros;
  }
}

cpu::GridMode mode_of(const GridSample& op) {
  switch (op.mode) {
    case SampleMode::nearest: return cpu::GridMode::nearest;
    case SampleMode::cubic: return cpu::GridMode::cubic;
    default: return cpu::GridMode::linear;
  }
}

template <class T>
void emit_grid_sample(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto& op = *node.as<GridSample>();
  const bool last = planner.assignment().read_channels_last(node.output());
  const Order order = last ? channels_last(4) : row_major(4);
  const PlannedTensor x = planner.dense(node.input(0), channels_last(4)), grid = planner.dense(node.input(1));
  const PlannedTensor y = planner.assignment().assign(
      node.output(), order, [&](const PlannedTensor& t) { return t.permute(order).is_contiguous(); });
  const cpu::GridSample<T> sample{.images = x.shape()[0],
                                  .channels = x.shape()[1],
                                  .height = x.shape()[2],
                                  .width = x.shape()[3],
                                  .points = y.shape()[2] * y.shape()[3],
                                  .mode = mode_of(op),
                                  .align_corners = op.align_corners,
                                  .y_channels_first = !last,
                                  .outside = outside_of(op)};
  auto step = std::make_unique<GridSampleStep<T>>(sample, planner.threads());
  step->x = x.address();
  step->grid = grid.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x, grid}, {y});
}

std::vector<Candidate> lower_grid_sample(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<GridSample>();
  const Shape& x = node.input(0)->shape();
  constexpr std::int64_t most_pixels = 1 << 24;  // whose numbers a float holds
  const DType dtype = node.input(0)->dtype();
  if (!op || x.size() != 4 || (dtype != DType::f32 && dtype != DType::f64) ||
      x[2].value() * x[3].value() >= most_pixels || numel(x) == 0 || numel(node.output()->shape()) == 0)
    return {};
  const double bytes =
      bytes_of(node.input(0)->type()) + bytes_of(node.input(1)->type()) + bytes_of(node.output()->type());
  const Work work{.flops = flops(node), .bytes = bytes};
  const double copy = planner.estimate_copy(
      node.input(0), [](const Strided& t) { return t.permute(channels_last(4)).is_contiguous(); });
  return {{{.kernel = "grid sample", .work = work, .seconds = copy + planner.estimate(work.flops, bytes)},
           dtype == DType::f32 ? emit_grid_sample<float> : emit_grid_sample<double>}};
}

}  // namespace

std::vector<OpLowering> grid_sample_lowerings() {
  return {{.op = &op_info<GridSample>(), .lower = lower_grid_sample, .alone = true}};
}

}  // namespace tenon
