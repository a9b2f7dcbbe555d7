// Pooling on a GPU.
#include "runtime/calls/pool.h"

#include "ir/ops/pool.h"
#include "kernels/gpu/pool_source.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/step.h"

namespace tenon::gpu {
namespace {

using Kind = PoolCall::Kind;

bool is_adaptive(const PoolCall& call) {
  return call.kind == Kind::adaptive_average || call.kind == Kind::adaptive_max;
}
bool is_mean(const PoolCall& call) {
  return call.kind == Kind::average || call.kind == Kind::adaptive_average;
}

// PoolShape of pool.gpu.h, whose fields are all 64-bit integers.
std::vector<std::int64_t> fields(const PoolCall& call, const PlannedTensor& x, const PlannedTensor& y) {
  const PoolShape& s = call.shape;
  std::vector<std::int64_t> list{s.N,
                                 s.C,
                                 x.strides()[0],
                                 x.strides()[1],
                                 y.strides()[0],
                                 y.strides()[1],
                                 call.count_include_pad,
                                 call.divisor};
  const PoolAxis axes[] = {s.d, s.h, s.w};
  const std::size_t given = x.rank() - 2;
  for (std::size_t i = 0; i < 3; ++i) {
    const PoolAxis& a = axes[i];
    const bool lies = i >= 3 - given;  // the first of three spatial axes may be missing
    const std::size_t axis = lies ? 2 + i - (3 - given) : 0;
    list.insert(list.end(), {a.in, is_adaptive(call) ? call.output[i] : a.out(), a.kernel, a.stride, a.pad,
                             a.dilation, lies ? x.strides()[axis] : 0, lies ? y.strides()[axis] : 0});
  }
  return list;
}

void emit(Planner& planner, const Group& group, const PoolCall& call, const Order& order) {
  const PlannedTensor x = planner.assignment().at(call.x);
  const PlannedTensor y = planner.assignment().assign(group.node().output(), order);
  const std::vector<std::int64_t> values = fields(call, x, y);
  const auto bytes = std::as_bytes(std::span(values));
  const auto blocks = static_cast<unsigned>((y.numel() + pool_threads - 1) / pool_threads);
  auto step = std::make_unique<LaunchStep>(
      gpu_queue(planner.queue()).gpu(),
      LaunchStep::Kernel{.source = pool_source(x.dtype(), is_mean(call), is_adaptive(call)),
                         .name = "pool",
                         .size = {{blocks, 1, 1}, {pool_threads, 1, 1}},
                         .buffers = {x, y},
                         .arguments = {{bytes.begin(), bytes.end()}}});
  planner.emit(std::move(step), group.node(), {x}, {y});
}

std::vector<Candidate> lower_pool(const Planner& planner, const Group& group) {
  const auto call = PoolCall::match(group);
  const DType dtype = call ? call->x->dtype() : DType::i64;
  if (dtype != DType::f32 && dtype != DType::f16 && dtype != DType::bf16) return {};
  if (numel(group.node().output()->shape()) == 0) return {};
  const Work work = call->work();
  const Order order = channels_last(call->x->rank());
  const CandidateInfo info{
      .kernel = "pool", .work = work, .seconds = planner.estimate(work.flops, work.bytes), .order = order};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call, order); }}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_pool_lowerings() {
  return {{&op_info<MaxPool>(), gpu::lower_pool, true},
          {&op_info<AvgPool>(), gpu::lower_pool, true},
          {&op_info<AdaptiveAvgPool>(), gpu::lower_pool, true},
          {&op_info<AdaptiveMaxPool>(), gpu::lower_pool, true}};
}

}  // namespace tenon
