// Pooling in f32.
#include "kernels/cpu/pool.h"

#include <algorithm>

#include "ir/ops/pool.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

enum class Kind { max, average, adaptive_average, adaptive_max };

struct PoolCall {
  Kind kind = Kind::max;
  cpu::PoolShape shape;
  cpu::AvgPoolOptions options;
  long output[3] = {1, 1, 1};  // d, h, w; adaptive only
};

class PoolStep : public CpuStep {
 public:
  explicit PoolStep(const PoolCall& call) : call_(call) {}

  void compute(const CpuFrame& frame) const override {
    const cpu::PoolRun run{frame.at<const float>(in), in_stride, frame.at<float>(out), out_stride};
    const long* size = call_.output;
    switch (call_.kind) {
      case Kind::max: return cpu::max_pool(call_.shape, run, frame.pool);
      case Kind::average: return cpu::avg_pool(call_.shape, call_.options, run, frame.pool);
      case Kind::adaptive_average:
        return cpu::adaptive_avg_pool(call_.shape, size[0], size[1], size[2], run, frame.pool);
      case Kind::adaptive_max:
        return cpu::adaptive_max_pool(call_.shape, size[0], size[1], size[2], run, frame.pool);
    }
  }

  Address in, out;
  long in_stride = 0, out_stride = 0;

 private:
  PoolCall call_;
};

// The last spatial dim is w, the one before h, the one before that d.
cpu::PoolAxis& axis_of(cpu::PoolShape& shape, std::size_t dim, std::size_t dims) {
  cpu::PoolAxis* axes[] = {&shape.w, &shape.h, &shape.d};
  return *axes[dims - 1 - dim];
}

cpu::PoolShape shape_of(const Index& x) {
  cpu::PoolShape shape;
  shape.N = x[0];
  shape.C = x[1];
  for (std::size_t i = 0; i + 2 < x.size(); ++i) axis_of(shape, i, x.size() - 2).in = x[2 + i];
  return shape;
}

// Kernel, stride and padding of MaxPool and AvgPool. False when the padding differs before and after.
template <class T>
bool set_windows(cpu::PoolShape& shape, const T& op, std::size_t dims) {
  const Axes kernel = spatial("kernel", op.kernel, dims);
  const Axes stride = spatial("stride", op.stride, dims);
  const Pads pads = spatial_pads(op.pad, dims);
  if (pads.begin != pads.end) return false;
  for (std::size_t i = 0; i < dims; ++i) {
    cpu::PoolAxis& axis = axis_of(shape, i, dims);
    axis.kernel = kernel[i];
    axis.stride = stride[i];
    axis.pad = pads.begin[i];
    axis.ceil_mode = op.ceil;
    if constexpr (requires { op.dilation; }) axis.dilation = spatial("dilation", op.dilation, dims)[i];
  }
  return true;
}

std::optional<PoolCall> call_of(const Node& node, const Index& x) {
  const std::size_t dims = x.size() - 2;
  PoolCall call{.shape = shape_of(x)};
  const auto adaptive = [&](Kind kind, const Shape& output) {
    call.kind = kind;
    for (std::size_t i = 0; i < dims; ++i) call.output[3 - dims + i] = output[i].value();
    return call;
  };
  if (const auto* op = node.as<AdaptiveAvgPool>()) return adaptive(Kind::adaptive_average, op->output);
  if (const auto* op = node.as<AdaptiveMaxPool>()) return adaptive(Kind::adaptive_max, op->output);
  if (const auto* op = node.as<MaxPool>()) {
    call.kind = Kind::max;
    return set_windows(call.shape, *op, dims) ? std::optional(call) : std::nullopt;
  }
  const auto* op = node.as<AvgPool>();
  call.kind = Kind::average;
  call.options = {op->count_include_pad, static_cast<long>(op->divisor.value_or(0))};
  return set_windows(call.shape, *op, dims) ? std::optional(call) : std::nullopt;
}

}  // namespace

bool make_pool(Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (group.members()[0] != &node) return false;
  const Value* x = node.input();
  if (x->dtype() != DType::f32 || x->rank() < 3 || x->rank() > 5) return false;
  const auto call = call_of(node, planner.places().at(x).shape());
  if (!call) return false;
  const Order order = channels_last(x->rank());
  const PlannedTensor in = planner.rows(x, order);
  const PlannedTensor out = planner.places().place_rows(node.output(), order);
  auto step = std::make_unique<PoolStep>(*call);
  step->in = in.address();
  step->in_stride = *row_stride(in, order);
  step->out = out.address();
  step->out_stride = *row_stride(out, order);
  step->info.kernel = "pool";
  planner.emit(std::move(step), node, {in}, {out});
  return true;
}

}  // namespace tenon
