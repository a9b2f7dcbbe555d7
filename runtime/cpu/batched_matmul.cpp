// Products of matrices that are only known at run time, over broadcast batch axes of any strides.
#include "runtime/calls/batched_matmul.h"

#include "ir/ops/linear.h"
#include "kernels/cpu/gemm.h"
#include "kernels/cpu/row_gemm.h"
#include "runtime/constant_value.h"
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
      BatchAxis at;  // the elements in front of this part of the batch
      std::int64_t rest = i;
      for (std::size_t d = outer_.size(); d-- > 0; rest /= outer_[d].size) {
        const std::int64_t index = rest % outer_[d].size;
        at.a += index * outer_[d].a;
        at.b += index * outer_[d].b;
        at.c += index * outer_[d].c;
      }
      cpu::BatchedGemm g = inner_;
      if (a_is_half)
        g.one.a_halves = frame.at<const std::uint16_t>(a) + at.a;
      else
        g.one.a = frame.at<const float>(a) + at.a;
      g.one.b.data = frame.at<const void>(b);
      g.one.b = g.one.b.further(at.b);
      if (c_is_half)
        g.one.c_halves = frame.at<std::uint16_t>(c) + at.c;
      else
        g.one.c = frame.at<float>(c) + at.c;
      CpuEpilogue::Running running;
      g.one.epilogue = epilogue_.bind(frame, running, i * g.batch * g.one.M);
      cpu::batched_gemm(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
    }
  }

  Address a, b, c;
  bool a_is_half = false, c_is_half = false;  // in memory: bfloat16

 private:
  cpu::BatchedGemm inner_;
  std::vector<BatchAxis> outer_;
  CpuEpilogue epilogue_;
};

bool is_bf16(const Value* side) { return side->dtype() == DType::bf16 || is_widened_from(side, DType::bf16); }

/// Is a matrix product best made of bfloat16? Where the CPU multiplies no pairs, tiles widen them, which
/// takes longer than a small product of floats.
bool pays_in_bf16(const Shape& left, const Shape& result) {
  constexpr std::int64_t small = 1 << 13;
  const auto last = result.end() - 1;
  return cpu::runs_dot_of_bf16() || left.back().value() * last[-1].value() * last->value() >= small;
}

/// Are both sides bfloat16, widened or not?
bool multiplies_bf16(const BatchedMatmulCall& call) {
  return is_bf16(call.left) && is_bf16(call.right) &&
         pays_in_bf16(call.left->shape(), call.anchor->output()->shape());
}

cpu::BatchedGemm gemm_of(const BatchedLayout& layout, const BatchedMatmulCall& call) {
  cpu::BatchedGemm g{
      .one = {.M = layout.M, .N = layout.N, .K = layout.K, .b = {nullptr, layout.b_row, layout.b_column}}};
  if (multiplies_bf16(call)) {
    g.one.a_is_bf16 = true;
    g.one.b.type = DType::bf16;
    g.one.b.is_widened = call.right->dtype() == DType::f32;
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
  cpu::BatchedGemm gemm = gemm_of(layout, call);
  gemm.one.schedule = planner.schedule();
  if (!layout.batch.empty()) layout.batch.pop_back();
  auto step = std::make_unique<BatchedStep>(gemm, std::move(layout.batch), std::move(epilogue));
  step->a = a.address();
  step->b = b.address();
  step->c = c.address();
  step->a_is_half = a.dtype() == DType::bf16;
  step->c_is_half = c.dtype() == DType::bf16;
  step->scratch_bytes =
      static_cast<std::size_t>(cpu::batched_gemm_scratch_size(gemm, planner.threads())) * sizeof(float);
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
}

std::vector<Candidate> lower_batched_matmul(const Planner& planner, const Group& group) {
  if (has_quantized_kernel(planner, group)) return {};
  auto call = BatchedMatmulCall::match(group);
  if (!call) call = BatchedMatmulCall::match_halves(group);
  if (!call || call->anchor->input(0)->dtype() != DType::f32 || call->left->shape().back() == 0) return {};
  const Type& result = group.results()[0]->type();
  const bool has_halves = call->left->dtype() == DType::bf16 || call->right->dtype() == DType::bf16;
  const bool fits_halves =
      multiplies_bf16(*call) && call->left->shape().back().value() <= cpu::RowGemm::max_depth;
  if ((has_halves || result.dtype == DType::bf16) && !fits_halves) return {};
  const Order order = row_major(call->anchor->output()->rank());
  const auto epilogue = find_epilogue(planner, group, *call->anchor, call->bias, order, {.halves = true});
  if (!epilogue) return {};
  Work work = call->work();
  if (is_bf16(call->left) && is_bf16(call->right)) work.arithmetic = ArithmeticKind::bf16;
  work.bytes += epilogue->match().bytes() + bytes_of(result) - bytes_of(call->anchor->output()->type());
  // Each right side is written to scratch, packed, and read from there; small ones cost the calls.
  const double packing = 2.0 * static_cast<double>(work.batch * work.columns * work.depth) * sizeof(float);
  constexpr double packing_call = 0.15e-6;
  const auto fits = [](const Strided& t) { return last_axis_is_contiguous(t); };
  const Strided left = planner.assignment().layout(call->left);
  const cpu::BatchedGemm gemm =
      gemm_of(BatchedLayout::of(fits(left) ? left : dense_layout(call->left->type()),
                                planner.assignment().layout(call->right), call->right_is_transposed,
                                dense_layout(call->anchor->output()->type())),
              *call);
  const auto scratch = static_cast<std::size_t>(cpu::batched_gemm_scratch_size(gemm, planner.threads()));
  const CandidateInfo info{.kernel = "batched gemm" + epilogue->text(),
                           .work = work,
                           .seconds = planner.estimate_copy(call->left, fits) +
                                      planner.estimate(work.flops, work.bytes + packing) +
                                      packing_call * static_cast<double>(work.batch),
                           .order = order,
                           .scratch_bytes = scratch * sizeof(float),
                           .knobs = cpu::row_gemm_knobs};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call, *epilogue, info); }}};
}

/// A product of two matrices of bfloat16 that are only known at run time, or of float32 that is cast from
/// such.
bool multiplies_halves(const Node& member, const Group& group) {
  const DType result = member.output()->dtype();
  const auto is_half = [&](std::size_t i) {
    const Value* factor = group.outer(member.input(i));
    if (result == DType::f32) factor = widened_half(*factor);
    return factor && factor->dtype() == DType::bf16 && factor->kind() != Value::Kind::weight &&
           !ConstantValue(factor).is_constant();
  };
  return (result == DType::bf16 || result == DType::f32) && is_half(0) && is_half(1) &&
         member.input(0)->shape().back().value() <= cpu::RowGemm::max_depth && member.output()->rank() >= 2 &&
         pays_in_bf16(member.input(0)->shape(), member.output()->shape());
}

}  // namespace

std::vector<OpLowering> batched_matmul_lowerings() {
  return {{.op = &op_info<MatMul>(),
           .lower = lower_batched_matmul,
           .widens = true,
           .reads_halves = multiplies_halves,
           .writes_halves = multiplies_halves},
          {.op = &op_info<Linear>(),
           .lower = lower_batched_matmul,
           .widens = true,
           .reads_halves = multiplies_halves,
           .writes_halves = multiplies_halves}};
}

}  // namespace tenon
