// Pooling on a GPU.
#include "runtime/calls/pool.h"

#include <algorithm>

#include "ir/ops/pool.h"
#include "kernels/gpu/pool_source.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop.h"

namespace tenon::gpu {
namespace {

using Kind = PoolCall::Kind;

bool is_adaptive(const PoolCall& call) {
  return call.kind == Kind::adaptive_average || call.kind == Kind::adaptive_max;
}
bool is_mean(const PoolCall& call) {
  return call.kind == Kind::average || call.kind == Kind::adaptive_average;
}

bool is_in_pieces(const Strided& t, int channels) {
  return std::ranges::all_of(t.strides(), [&](std::int64_t s) { return s == 1 || s % channels == 0; });
}

std::int64_t threads_of(const PoolCall& call, const PlannedTensor& y, const PoolForm& form) {
  const std::int64_t channels = std::max(1, form.channels);
  return y.numel() / call.shape.C * ((call.shape.C + channels - 1) / channels);
}

// Neighbours go along what lies side by side in the input; chunks where enough threads are left.
PoolForm form_of(const PoolCall& call, const PlannedTensor& x, const PlannedTensor& y,
                 const GpuLimits& limits, bool with_places) {
  constexpr std::int64_t least_threads = 256;  // of a processor
  const PoolForm one{.channels = x.strides()[1] == 1 ? 1 : 0, .wide = y.numel() >= std::int64_t{1} << 31};
  PoolForm chunks = one;
  chunks.channels = static_cast<int>(16 / size_of(x.dtype()));
  const bool fits =
      one.channels == 1 && y.strides()[1] == 1 && !with_places && call.shape.C >= chunks.channels;
  return fits && threads_of(call, y, chunks) >= least_threads * limits.processors ? chunks : one;
}

// PoolShape of pool.gpu.h, whose fields are all 64-bit integers.
std::vector<std::int64_t> fields(const PoolCall& call, const PlannedTensor& x, const PlannedTensor& y,
                                 const PoolForm& form) {
  const PoolShape& s = call.shape;
  std::vector<std::int64_t> list{s.N,
                                 s.C,
                                 x.strides()[0],
                                 x.strides()[1],
                                 y.strides()[0],
                                 y.strides()[1],
                                 call.count_include_pad,
                                 call.divisor,
                                 is_in_pieces(x, std::max(1, form.channels)),
                                 is_in_pieces(y, std::max(1, form.channels))};
  const PoolAxis axes[] = {s.d, s.h, s.w};
  const std::size_t given = x.rank() - 2;
  for (std::size_t i = 0; i < 3; ++i) {
    const PoolAxis& a = axes[i];
    const bool lies = i >= 3 - given;  // the first of three spatial axes may be missing
    const std::size_t axis = lies ? 2 + i - (3 - given) : 0;
    list.insert(list.end(),
                {a.in, is_adaptive(call) ? call.output[i] : a.out(), a.kernel, a.stride, a.pad, a.pad_more,
                 a.dilation, lies ? x.strides()[axis] : 0, lies ? y.strides()[axis] : 0});
  }
  return list;
}

void emit_pool(Planner& planner, const Group& group, const PoolCall& call, const Order& order) {
  const Node& node = group.node();
  const PlannedTensor x = planner.assignment().at(call.x);
  const bool with_places = node.num_outputs() == 2;  // which lie as the values do
  const auto is_dense = [&](const PlannedTensor& t) { return t.permute(order).is_contiguous(); };
  std::vector<PlannedTensor> writes;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    writes.push_back(with_places ? planner.assignment().assign(node.output(i), order, is_dense)
                                 : planner.assignment().assign(node.output(i), order));
  const PlannedTensor& y = writes[0];
  const PoolForm form = form_of(call, x, y, limits_of(gpu_of(planner)), with_places);
  const auto bytes = struct_of(fields(call, x, y, form));
  std::vector<PlannedTensor> buffers{x};
  buffers.insert(buffers.end(), writes.begin(), writes.end());
  emit(planner, node,
       {.name = {},
        .kernel = {.source = with_places ? pool_with_places_source(x.dtype(), is_adaptive(call), form)
                                         : pool_source(x.dtype(), is_mean(call), is_adaptive(call), form),
                   .name = "pool",
                   .size = threads_for(threads_of(call, y, form), pool_threads),
                   .buffers = std::move(buffers),
                   .arguments = {bytes}},
        .reads = {x},
        .writes = std::move(writes)});
}

std::vector<Candidate> lower_pool(const Planner& planner, const Group& group) {
  const auto call = PoolCall::match(group);
  if (!call) return {};
  const DType dtype = call->x->dtype();
  const bool has_order = is_integral(dtype) && dtype != DType::u64;
  if (!is_float(dtype) && (is_mean(*call) || !has_order)) return {};
  if (numel(group.node().output()->shape()) == 0) return {};
  const Work work = call->work();
  const std::size_t rank = call->x->rank();
  const bool by_pixels = planner.assignment().layout(call->x).is_contiguous() && rank > 2;
  const Order order = by_pixels ? row_major(rank) : channels_last(rank);
  const CandidateInfo info{
      .kernel = "pool", .work = work, .seconds = planner.estimate(work.flops, work.bytes), .order = order};
  return {{info, [=](Planner& p, const Group& g) { emit_pool(p, g, *call, order); }}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_pool_lowerings() {
  return {{&op_info<MaxPool>(), gpu::lower_pool, true},
          {&op_info<AvgPool>(), gpu::lower_pool, true},
          {&op_info<AdaptiveAvgPool>(), gpu::lower_pool, true},
          {&op_info<AdaptiveMaxPool>(), gpu::lower_pool, true},
          {&op_info<MaxPoolIndices>(), gpu::lower_pool, true},
          {&op_info<AdaptiveMaxPoolIndices>(), gpu::lower_pool, true}};
}

}  // namespace tenon
