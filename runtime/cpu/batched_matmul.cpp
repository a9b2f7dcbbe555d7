// Products of matrices that are only known at run time, over broadcast batch axes of any strides.
#include "runtime/calls/batched_matmul.h"

#include "ir/ops/linear.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/quantized_matmul.h"
#include "runtime/cpu/step.h"
#include "runtime/widen.h"

namespace tenon {
namespace {

class BatchedStep : public CpuStep {
 public:
  BatchedStep(const cpu::BatchedGemm& inner, std::vector<BatchAxis> outer, CpuEpilogue epilogue)
      : inner_(inner), outer_(std::move(outer)), epilogue_(std::move(epilogue)) {}

  void compute(const CpuFrame& frame) const override {
    std::int64_t count = 1;
    for (const BatchAxis& axis : outer_) count *= axis.size;
    for (std::int64_t i = 0; i < count; ++i) {
      cpu::BatchedGemm g = inner_;
      g.one.a = frame.at<const float>(a);
      const auto* right = frame.at<const float>(b);
      g.one.c = frame.at<float>(c);
      std::int64_t rest = i;
      for (std::size_t d = outer_.size(); d-- > 0; rest /= outer_[d].size) {
        const std::int64_t index = rest % outer_[d].size;
        g.one.a += index * outer_[d].a;
        right += index * outer_[d].b;
        g.one.c += index * outer_[d].c;
      }
      g.one.b.data = right;
      CpuEpilogue::Running running;
      g.one.epilogue = epilogue_.bind(frame, running, i * g.batch * g.one.M);
      cpu::batched_gemm(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
    }
  }

  Address a, b, c;

 private:
  cpu::BatchedGemm inner_;
  std::vector<BatchAxis> outer_;
  CpuEpilogue epilogue_;
};

/// Are both sides bfloat16 that was widened, and does the CPU multiply such numbers?
bool multiplies_bf16(const BatchedMatmulCall& call) {
  return cpu::runs_dot_of_bf16() && is_widened_from(call.left, DType::bf16) &&
         is_widened_from(call.right, DType::bf16);
}

cpu::BatchedGemm gemm_of(const BatchedLayout& layout, bool of_bf16) {
  cpu::BatchedGemm g{
      .one = {.M = layout.M, .N = layout.N, .K = layout.K, .b = {nullptr, layout.b_row, layout.b_column}}};
  if (of_bf16) {
    g.one.a_is_bf16 = g.one.b.is_widened = true;
    g.one.b.type = DType::bf16;
  }
  g.one.a_stride = layout.a_row;
  g.one.c_stride = layout.c_row;
  if (layout.batch.empty()) return g;
  const BatchAxis& inner = layout.batch.back();
  g.batch = inner.size;
  g.a_batch_stride = inner.a;
  g.b_batch_stride = inner.b;
  g.c_batch_stride = inner.c;
  return g;
}

void emit(Planner& planner, const Group& group, const BatchedMatmulCall& call, CpuEpilogue epilogue,
          const CandidateInfo& info) {
  const PlannedTensor in = planner.assignment().at(call.left);
  const PlannedTensor a = last_axis_is_contiguous(in) ? in : planner.dense(call.left);
  const PlannedTensor b = planner.assignment().at(call.right);
  const Order wished = planner.assignment().order_for_reader(group.node().output());
  const bool keeps_rows = wished.back() == static_cast<std::int64_t>(wished.size()) - 1;
  const PlannedTensor c =
      epilogue.match().assign_result(planner, group, keeps_rows ? wished : info.order,
                                     [](const PlannedTensor& t) { return last_axis_is_contiguous(t); });
  epilogue.place(planner);
  std::vector<PlannedTensor> reads = epilogue.reads();
  reads.insert(reads.end(), {a, b});
  BatchedLayout layout = BatchedLayout::of(a, b, call.right_is_transposed, c);
  const cpu::BatchedGemm gemm = gemm_of(layout, multiplies_bf16(call));
  if (!layout.batch.empty()) layout.batch.pop_back();
  auto step = std::make_unique<BatchedStep>(gemm, std::move(layout.batch), std::move(epilogue));
  step->a = a.address();
  step->b = b.address();
  step->c = c.address();
  step->scratch_bytes =
      static_cast<std::size_t>(cpu::batched_gemm_scratch_size(gemm, planner.threads())) * sizeof(float);
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
}

std::vector<Candidate> lower_batched_matmul(const Planner& planner, const Group& group) {
  if (has_quantized_kernel(planner, group)) return {};
  const auto call = BatchedMatmulCall::match(group);
  if (!call || call->left->dtype() != DType::f32 || call->left->shape().back() == 0) return {};
  const Order order = row_major(call->anchor->output()->rank());
  const auto epilogue = find_epilogue(planner, group, *call->anchor, call->bias, order);
  if (!epilogue) return {};
  Work work = call->work();
  work.bytes += epilogue->match().bytes();
  // Each right side is written to scratch, packed, and read from there; small ones cost the calls.
  const double packing = 2.0 * static_cast<double>(work.batch * work.columns * work.depth) * sizeof(float);
  constexpr double packing_call = 0.15e-6;
  const auto fits = [](const Strided& t) { return last_axis_is_contiguous(t); };
  const Strided left = planner.assignment().layout(call->left);
  const bool of_bf16 = multiplies_bf16(*call);
  const cpu::BatchedGemm gemm =
      gemm_of(BatchedLayout::of(fits(left) ? left : dense_layout(call->left->type()),
                                planner.assignment().layout(call->right), call->right_is_transposed,
                                dense_layout(call->anchor->output()->type())),
              of_bf16);
  const auto scratch = static_cast<std::size_t>(cpu::batched_gemm_scratch_size(gemm, planner.threads()));
  const CandidateInfo info{.kernel = "batched gemm" + epilogue->text(),
                           .work = work,
                           .seconds = planner.estimate_copy(call->left, fits) +
                                      planner.estimate(work.flops, work.bytes + packing) +
                                      packing_call * static_cast<double>(work.batch),
                           .order = order,
                           .scratch_bytes = scratch * sizeof(float)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, info); }}};
}

}  // namespace

std::vector<OpLowering> batched_matmul_lowerings() {
  return {{.op = &op_info<MatMul>(), .lower = lower_batched_matmul, .widens = true},
          {.op = &op_info<Linear>(), .lower = lower_batched_matmul, .widens = true}};
}

}  // namespace tenon
