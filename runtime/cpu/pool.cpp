// Pooling in f32, f64 and bf16, maxima of integers, too.
#include "kernels/cpu/pool.h"

#include "ir/ops/pool.h"
#include "runtime/calls/pool.h"
#include "runtime/centred_bytes.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class PoolStep : public CpuStep {
 public:
  explicit PoolStep(const PoolCall& call) : call_(call) {}

  void compute(const CpuFrame& frame) const override {
    cpu::PoolRun run{frame.at<const void>(in), in_stride, frame.at<void>(out), out_stride, type};
    if (places) run.places = frame.at<std::int64_t>(*places), run.places_stride = places_stride;
    const long* size = call_.output;
    switch (call_.kind) {
      case PoolCall::Kind::max: return cpu::max_pool(call_.shape, run, frame.pool);
      case PoolCall::Kind::average:
        return cpu::avg_pool(call_.shape, {call_.count_include_pad, call_.divisor}, run, frame.pool);
      case PoolCall::Kind::adaptive_average:
        return cpu::adaptive_avg_pool(call_.shape, size[0], size[1], size[2], run, frame.pool);
      case PoolCall::Kind::adaptive_max:
        return cpu::adaptive_max_pool(call_.shape, size[0], size[1], size[2], run, frame.pool);
    }
  }

  Address in, out;
  long in_stride = 0, out_stride = 0;
  std::optional<Address> places;
  long places_stride = 0;
  DType type = DType::f32;

 private:
  PoolCall call_;
};

void emit(Planner& planner, const Group& group, const PoolCall& call, const CandidateInfo& info) {
  const PlannedTensor in = planner.rows(call.x, info.order);
  const Node& node = group.node();
  std::vector<PlannedTensor> results;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    results.push_back(planner.assignment().assign_rows(node.output(i), info.order));
  const PlannedTensor& out = results[0];
  auto step = std::make_unique<PoolStep>(call);
  step->in = in.address();
  step->in_stride = *row_stride(in, info.order);
  step->type = in.dtype();
  step->out = out.address();
  step->out_stride = *row_stride(out, info.order);
  if (results.size() > 1) {
    step->places = results[1].address();
    step->places_stride = *row_stride(results[1], info.order);
  }
  planner.emit(std::move(step), node, {in}, results);
}

class PoolRowsStep : public CpuStep {
 public:
  PoolRowsStep(const PoolAxis& axis, std::int64_t rows, DType type) : axis_(axis), rows_(rows), type_(type) {}

  void compute(const CpuFrame& frame) const override {
    cpu::max_pool_rows(axis_, {frame.at<const void>(in), frame.at<void>(out), rows_, type_}, frame.pool);
  }

  Address in, out;

 private:
  PoolAxis axis_;
  std::int64_t rows_;
  DType type_;
};

void emit_rows(Planner& planner, const Group& group, const PoolAxis& axis) {
  const Node& node = group.node();
  const PlannedTensor in = planner.dense(node.input());
  const PlannedTensor out = planner.assignment().assign(
      node.output(), row_major(in.rank()), [](const PlannedTensor& t) { return t.is_contiguous(); });
  auto step = std::make_unique<PoolRowsStep>(axis, in.numel() / axis.in, in.dtype());
  step->in = in.address();
  step->out = out.address();
  planner.emit(std::move(step), node, {in}, {out});
}

/// Of a pool with windows along its last axis alone.
std::vector<Candidate> lower_rows(const Planner& planner, const Group& group) {
  const auto call = PoolCall::match(group);
  if (!call || call->kind != PoolCall::Kind::max || group.node().num_outputs() > 1) return {};
  const PoolShape& s = call->shape;
  if (s.d.has_windows() || s.h.has_windows() || s.N * s.C * s.in_pixels() == 0 ||
      !cpu::pools_rows(s.w, call->x->dtype()))
    return {};
  const Work work = call->work();
  const double copies = planner.estimate_copy(call->x, [](const Strided& t) { return t.is_contiguous(); });
  return {
      {{.kernel = "pool of rows", .work = work, .seconds = copies + planner.estimate(work.flops, work.bytes)},
       [axis = s.w](Planner& p, const Group& g) { emit_rows(p, g, axis); }}};
}

/// Does each window read a pixel? The largest of no bytes is no byte.
bool reads_everywhere(const PoolAxis& axis) {
  for (long o = 0; o < axis.out(); ++o) {
    bool any = false;
    for (long k = 0; k < axis.kernel; ++k) {
      const long at = o * axis.stride - axis.pad + k * axis.dilation;
      any |= at >= 0 && at < axis.in;
    }
    if (!any) return false;
  }
  return true;
}
bool takes_bytes(const PoolCall& call) {
  const PoolShape& s = call.shape;
  return call.kind == PoolCall::Kind::adaptive_max ||
         (call.kind == PoolCall::Kind::max && reads_everywhere(s.d) && reads_everywhere(s.h) &&
          reads_everywhere(s.w));
}

std::vector<Candidate> lower_pool(const Planner& planner, const Group& group) {
  const auto call = PoolCall::match(group);
  if (!call) return {};
  const DType type = call->x->dtype();
  const bool finds_places = group.node().num_outputs() > 1;
  const bool has_type = type == DType::f32 || type == DType::f64 || is_integral(type) || is_bool(type) ||
                        (!finds_places && type == DType::bf16);
  if (!has_type) return {};
  const Order order = channels_last(call->x->rank());
  const double copies =
      planner.estimate_copy(call->x, [&](const Strided& t) { return row_stride(t, order).has_value(); });
  const Work work = call->work();
  const CandidateInfo info{.kernel = "pool",
                           .work = work,
                           .seconds = copies + planner.estimate(work.flops, work.bytes),
                           .order = order};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call, info); }}};
}

bool moves_bytes(const Node& member, const Group& group, WeightStore&) {
  const auto call = PoolCall::match(Group(member));
  return group.members().size() == 1 && call && takes_bytes(*call);
}

}  // namespace

std::vector<OpLowering> pool_lowerings() {
  std::vector<OpLowering> all;
  for (const OpInfo* op :
       {&op_info<MaxPool>(), &op_info<AvgPool>(), &op_info<AdaptiveAvgPool>(), &op_info<AdaptiveMaxPool>()})
    all.push_back({.op = op,
                   .lower = lower_pool,
                   .channels_last = true,
                   .widens = true,
                   .takes_bytes = op == &op_info<MaxPool>() ? moves_bytes : nullptr});
  all.push_back({.op = &op_info<MaxPool>(), .lower = lower_rows, .channels_last = true, .widens = true});
  for (const OpInfo* op : {&op_info<MaxPoolIndices>(), &op_info<AdaptiveMaxPoolIndices>()})
    all.push_back({.op = op, .lower = lower_pool, .channels_last = true, .alone = true, .widens = true});
  return all;
}

}  // namespace tenon
