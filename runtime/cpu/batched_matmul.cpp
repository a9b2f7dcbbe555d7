// Products of matrices that are only known at run time, over broadcast batch axes of any strides.
#include <algorithm>

#include "ir/ops/linear.h"
#include "kernels/cpu/gemm.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

// One batch axis: how many products, and how far apart their operands lie.
struct BatchAxis {
  std::int64_t size, a, b, c;
};

class BatchedStep : public CpuStep {
 public:
  BatchedStep(const cpu::BatchedGemm& inner, std::vector<BatchAxis> outer, GroupEpilogue epilogue)
      : inner_(inner), outer_(std::move(outer)), epilogue_(std::move(epilogue)) {}

  void compute(const CpuFrame& frame) const override {
    std::int64_t count = 1;
    for (const BatchAxis& axis : outer_) count *= axis.size;
    for (std::int64_t i = 0; i < count; ++i) {
      cpu::BatchedGemm g = inner_;
      g.one.a = frame.at<const float>(a);
      g.one.b.data = frame.at<const float>(b);
      g.one.c = frame.at<float>(c);
      std::int64_t rest = i;
      for (std::size_t d = outer_.size(); d-- > 0; rest /= outer_[d].size) {
        const std::int64_t index = rest % outer_[d].size;
        g.one.a += index * outer_[d].a;
        g.one.b.data += index * outer_[d].b;
        g.one.c += index * outer_[d].c;
      }
      GroupEpilogue::Running running;
      g.one.epilogue = epilogue_.bind(frame, running, i * g.batch * g.one.M);
      cpu::batched_gemm(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
    }
  }

  Address a, b, c;

 private:
  cpu::BatchedGemm inner_;
  std::vector<BatchAxis> outer_;
  GroupEpilogue epilogue_;
};

// Batch axes with those merged that one step of each operand walks through.
std::vector<BatchAxis> batch_axes(const Strided& a, const Strided& b, const Strided& c) {
  std::vector<BatchAxis> axes;
  for (std::size_t i = 0; i + 2 < c.rank(); ++i) {
    const BatchAxis next{c.shape()[i], a.strides()[i], b.strides()[i], c.strides()[i]};
    if (next.size == 1) continue;
    if (!axes.empty()) {
      BatchAxis& last = axes.back();
      if (last.a == next.a * next.size && last.b == next.b * next.size && last.c == next.c * next.size) {
        last = {last.size * next.size, next.a, next.b, next.c};
        continue;
      }
    }
    axes.push_back(next);
  }
  return axes;
}

PlannedTensor transposed(const PlannedTensor& t) {
  Order order = row_major(t.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return t.permute(order);
}

// The operand with the batch axes of the result in front.
PlannedTensor with_batch(const PlannedTensor& t, const Index& result) {
  Index shape = result;
  shape[shape.size() - 2] = t.shape()[t.rank() - 2];
  shape[shape.size() - 1] = t.shape()[t.rank() - 1];
  return t.expand(shape);
}

}  // namespace

bool make_matmul(Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<MatMul>());
  if (!anchor) anchor = find_anchor(group, op_info<Linear>());
  if (!anchor || anchor->output()->rank() < 2) return false;
  const Value* left = group.outer(anchor->input(0));
  const Value* right = group.outer(anchor->input(1));
  if (left->dtype() != DType::f32 || numel(anchor->output()->shape()) == 0 || left->shape().back() == 0)
    return false;
  const Value* bias = anchor->inputs().size() > 2 ? anchor->input(2) : nullptr;
  const Order order = row_major(anchor->output()->rank());
  auto epilogue = GroupEpilogue::find(planner, group, *anchor, bias, order);
  if (!epilogue) return false;

  const PlannedTensor in = planner.places().at(left);
  const PlannedTensor a_own = last_axis_is_contiguous(in) ? in : planner.dense(left);
  const PlannedTensor b_place = planner.places().at(right);
  const PlannedTensor b_own = anchor->is<Linear>() ? transposed(b_place) : b_place;
  const Order wished = planner.places().order_for_reader(group.node().output());
  const bool keeps_rows = wished.back() == static_cast<std::int64_t>(order.size()) - 1;
  const PlannedTensor c =
      epilogue->place_result(planner, group, keeps_rows ? wished : order,
                             [](const PlannedTensor& t) { return last_axis_is_contiguous(t); });
  const PlannedTensor a = with_batch(a_own, c.shape()), b = with_batch(b_own, c.shape());

  std::vector<BatchAxis> axes = batch_axes(a, b, c);
  const std::size_t r = c.rank();
  cpu::BatchedGemm g{.one = {.M = c.shape()[r - 2],
                             .N = c.shape()[r - 1],
                             .K = a.shape()[r - 1],
                             .b = {nullptr, b.strides()[r - 2], b.strides()[r - 1]}}};
  g.one.a_stride = a.strides()[r - 2];
  g.one.c_stride = c.strides()[r - 2];
  if (!axes.empty()) {
    const BatchAxis inner = axes.back();
    axes.pop_back();
    const bool one_matrix =
        inner.b == 0 && inner.a == g.one.M * g.one.a_stride && inner.c == g.one.M * g.one.c_stride;
    if (one_matrix) {
      g.one.M *= inner.size;
    } else {
      g.batch = inner.size;
      g.a_batch_stride = inner.a;
      g.b_batch_stride = inner.b;
      g.c_batch_stride = inner.c;
    }
  }
  auto step = std::make_unique<BatchedStep>(g, std::move(axes), *epilogue);
  step->a = a.address();
  step->b = b.address();
  step->c = c.address();
  step->scratch_bytes =
      static_cast<std::size_t>(cpu::batched_gemm_scratch_size(g, planner.queue().threads())) * sizeof(float);
  step->info.kernel = "batched gemm" + epilogue->text();
  std::vector<PlannedTensor> reads = epilogue->reads();
  reads.push_back(a_own);
  reads.push_back(b_own);
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
  return true;
}

}  // namespace tenon
