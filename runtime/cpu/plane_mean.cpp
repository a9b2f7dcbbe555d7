// Means of whole planes that lie one behind the other: a pool's kernel would turn them channels-last before.
#include <array>

#include "ir/ops/pool.h"
#include "kernels/cpu/loop_kernel.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

LoopProgram mean_program(DType dtype, std::int64_t planes, std::int64_t size) {
  LoopProgram program("plane mean", {planes, size}, 1);
  const Reg x = program.load({.buffer = 0, .dtype = dtype, .strides = {size, 1}});
  const Reg sum = program.reduce(Reduce::sum, x);
  const Reg mean = program.prim(Prim::div, sum, program.count(compute_type(dtype)));
  program.store({.buffer = 1, .dtype = dtype, .strides = {1, 0}},
                is_small_float(dtype) ? program.cast(dtype, mean) : mean);
  return program;
}

class PlaneMeanStep : public CpuStep {
 public:
  PlaneMeanStep(const LoopProgram& program, int threads) : kernel_(cpu::LoopKernel::compile(program)) {
    scratch_bytes = kernel_.scratch_bytes(threads);
  }

  void compute(const CpuFrame& frame) const override {
    const std::array<void*, 2> buffers = {frame.at<void>(x), frame.at<void>(y)};
    kernel_.run(buffers, frame.scratch, frame.pool);
  }

  Address x, y;

 private:
  cpu::LoopKernel kernel_;
};

void emit_mean(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input());
  const PlannedTensor y = planner.assignment().assign(
      node.output(), row_major(x.rank()), [](const PlannedTensor& t) { return t.is_contiguous(); });
  const std::int64_t planes = y.numel();
  auto step =
      std::make_unique<PlaneMeanStep>(mean_program(x.dtype(), planes, x.numel() / planes), planner.threads());
  step->x = x.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x}, {y});
}

std::vector<Candidate> lower_plane_mean(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* pool = node.as<AdaptiveAvgPool>();
  const Value& x = *node.input();
  if (!pool || !is_float(x.dtype()) || numel(x.shape()).value() == 0) return {};
  std::int64_t size = 1;
  for (std::size_t i = 0; i < pool->output.size(); ++i) {
    if (pool->output[i] != Dim(1)) return {};
    size *= x.shape()[x.rank() - 1 - i].value();
  }
  if (size < 2) return {};
  const double elements = static_cast<double>(numel(x.shape()).value());
  const Work work{.flops = elements, .bytes = bytes_of(x.type()) + bytes_of(node.output()->type())};
  const double copies = planner.estimate_copy(&x, [](const Strided& t) { return t.is_contiguous(); });
  return {{{.kernel = "plane mean", .work = work, .seconds = copies + planner.estimate(elements, work.bytes)},
           emit_mean}};
}

}  // namespace

std::vector<OpLowering> plane_mean_lowerings() {
  return {{.op = &op_info<AdaptiveAvgPool>(), .lower = lower_plane_mean, .alone = true}};
}

}  // namespace tenon
