// Resizing on a GPU (linear, cubic; the nearest element is a loop's own): a loop over the result that gathers
// the few elements which each is made of, by tables of their places and weights.
#include "ir/flops.h"
#include "ir/ops/interpolate_taps.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop.h"

namespace tenon::gpu {
namespace {

/// Tables for one axis, [taps, index along the axis]. Along an axis of one tap nothing changes.
struct AxisTables {
  std::size_t axis = 0;
  std::size_t taps = 0;
  std::int64_t size = 0;
  Tensor places, weights;  // places: distances from the axis' first element
};

AxisTables tables_of(const Interpolate& op, const PlannedTensor& x, std::size_t axis, std::int64_t size) {
  const std::vector<Taps> all = taps_along(op, x.dtype(), axis - 2, x.shape()[axis], size);
  AxisTables t{.axis = axis, .taps = all.at(0).size(), .size = size};
  const Index shape{static_cast<std::int64_t>(t.taps), size};
  t.places = Tensor::empty(DType::i64, shape);
  t.weights = Tensor::empty(compute_type(x.dtype()), shape);
  for_each_index(shape, [&](std::span<const std::int64_t> at) {
    const Tap& tap = all[static_cast<std::size_t>(at[1])][static_cast<std::size_t>(at[0])];
    t.places.set_int(at, tap.place * x.strides()[axis]);
    t.weights.set_double(at, tap.weight);
  });
  return t;
}

class ResizeLoop {
 public:
  ResizeLoop(Planner& planner, const PlannedTensor& x, const PlannedTensor& y, const Interpolate& op)
      : x_(x), loop_{.program = {"resize", y.shape()}, .buffers = {x, y}} {
    for (std::size_t axis = 2; axis < x.rank(); ++axis)
      if (AxisTables t = tables_of(op, x, axis, y.shape()[axis]); t.taps > 1) axes_.push_back(std::move(t));
    for (const AxisTables& t : axes_) {
      loop_.buffers.push_back(planner.constant(t.places));
      loop_.buffers.push_back(planner.constant(t.weights));
    }
    const Reg result = sum(0, -1);
    loop_.program.store({.buffer = 1, .dtype = y.dtype(), .strides = y.strides()}, result);
  }
  LoweredLoop loop() && { return std::move(loop_); }

 private:
  Reg entry(std::size_t k, std::size_t tap, const Tensor& table, int buffer) {
    Index strides(x_.rank(), 0);
    strides[axes_[k].axis] = 1;
    return loop_.program.load({.buffer = buffer,
                               .dtype = table.dtype(),
                               .strides = std::move(strides),
                               .offset = static_cast<std::int64_t>(tap) * axes_[k].size});
  }

  // The sum over the taps of the axes from k on, for a place along the axes before.
  Reg sum(std::size_t k, Reg place) {
    if (k == axes_.size()) return element(place);
    const int buffer = 2 + 2 * static_cast<int>(k);
    Reg total = -1;
    for (std::size_t tap = 0; tap < axes_[k].taps; ++tap) {
      const Reg here = entry(k, tap, axes_[k].places, buffer);
      const Reg inner = sum(k + 1, k == 0 ? here : loop_.program.prim(Prim::add, place, here));
      const Reg weight = entry(k, tap, axes_[k].weights, buffer + 1);
      const Reg part = loop_.program.prim(Prim::mul, weight, inner);
      total = tap == 0 ? part : loop_.program.prim(Prim::add, total, part);
    }
    return total;
  }

  Reg element(Reg place) {
    LoopOperand from{
        .buffer = 0, .dtype = x_.dtype(), .strides = x_.strides(), .index_stride = 1, .range = 1};
    if (place < 0) return loop_.program.load(std::move(from));
    for (const AxisTables& t : axes_) {
      from.strides[t.axis] = 0;
      from.range += (x_.shape()[t.axis] - 1) * x_.strides()[t.axis];
    }
    if (outside_ < 0) outside_ = loop_.program.constant(0, compute_type(x_.dtype()));
    return loop_.program.gather(std::move(from), place, outside_);
  }

  PlannedTensor x_;
  LoweredLoop loop_;
  std::vector<AxisTables> axes_;
  Reg outside_ = -1;
};

bool goes_forward(const Strided& t) {
  return std::all_of(t.strides().begin(), t.strides().end(), [](std::int64_t s) { return s >= 0; });
}

void emit_resize(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor at = planner.assignment().at(node.input());
  const PlannedTensor x = goes_forward(at) ? at : planner.dense(node.input());
  const PlannedTensor y = planner.assignment().assign(node.output(), order_of(x));
  LoweredLoop loop = ResizeLoop(planner, x, y, *node.as<Interpolate>()).loop();
  std::vector<PlannedTensor> reads = loop.buffers;
  reads.erase(reads.begin() + 1);
  planner.emit(make_loop_step(gpu_queue(planner.queue()).gpu(), loop), node, std::move(reads), {y});
}

std::vector<Candidate> lower_resize(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<Interpolate>();
  if (!op || (op->mode != InterpolateMode::linear && op->mode != InterpolateMode::cubic) ||
      !is_float(node.input()->dtype()) || numel(node.output()->shape()).value() == 0)
    return {};
  const Work work{.flops = flops(node),
                  .bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type())};
  return {
      {{.kernel = "resize", .work = work, .seconds = planner.estimate(work.flops, work.bytes)}, emit_resize}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_resize_lowerings() {
  return {{.op = &op_info<Interpolate>(), .lower = gpu::lower_resize, .alone = true}};
}

}  // namespace tenon
