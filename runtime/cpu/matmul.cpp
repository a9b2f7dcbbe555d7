// Products with a constant matrix: linear, and matmul by a weight. It is packed once, or, in a plan that runs
// once, while it is used.
#include <algorithm>

#include "ir/ops/linear.h"
#include "kernels/cpu/gemm.h"
#include "runtime/cpu/epilogue.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/pack.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class GemmStep : public CpuStep {
 public:
  GemmStep(const cpu::Gemm& sizes, bool is_packed, GroupEpilogue epilogue)
      : sizes_(sizes), is_packed_(is_packed), epilogue_(std::move(epilogue)) {}

  void compute(const CpuFrame& frame) const override {
    GroupEpilogue::Running running;
    cpu::Gemm g = sizes_;
    g.a = frame.at<const float>(a);
    (is_packed_ ? g.packed_b : g.b.data) = frame.at<const float>(b);
    g.c = frame.at<float>(c);
    g.epilogue = epilogue_.bind(frame, running);
    cpu::gemm(g, reinterpret_cast<float*>(frame.scratch), frame.pool);
  }

  Address a, b, c;

 private:
  cpu::Gemm sizes_;
  bool is_packed_;
  GroupEpilogue epilogue_;
};

cpu::MatrixB matrix_of(const Tensor& weight) {
  return {weight.data<float>(), weight.strides()[0], weight.strides()[1]};
}

PlannedTensor packed_matrix(Planner& planner, const Tensor& weight) {
  const std::int64_t K = weight.shape()[0], N = weight.shape()[1];
  return packed_floats(
      planner, weight, "gemm", cpu::packed_b_size(K, N),
      [&](const Tensor& w, float* to, ThreadPool& pool) { cpu::pack_b(K, N, matrix_of(w), to, pool); });
}

}  // namespace

bool make_linear(Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Linear>());
  if (!anchor) anchor = find_anchor(group, op_info<MatMul>());
  if (!anchor) return false;
  const Value* x = group.outer(anchor->input(0));
  const std::optional<Tensor> constant = planner.places().constant(group.outer(anchor->input(1)));
  if (!constant || constant->rank() != 2 || x->dtype() != DType::f32) return false;
  const Order order = row_major(anchor->output()->rank());
  const Value* bias = anchor->inputs().size() > 2 ? anchor->input(2) : nullptr;
  auto epilogue = GroupEpilogue::find(planner, group, *anchor, bias, order);
  if (!epilogue) return false;

  const std::int64_t N = anchor->output()->shape().back().value();
  const std::int64_t K = x->shape().back().value();
  const std::int64_t M = numel(anchor->output()->shape()).value() / std::max<std::int64_t>(N, 1);
  if (M == 0 || N == 0 || K == 0) return false;
  const Tensor weight = anchor->is<Linear>() ? constant->permute(Index{1, 0}) : *constant;  // [K, N]
  const PlannedTensor right = planner.runs_once() ? planner.constant(weight) : packed_matrix(planner, weight);
  const PlannedTensor a = planner.rows(x, row_major(x->rank()));
  const PlannedTensor c = epilogue->place_result(
      planner, group, order, [&](const PlannedTensor& t) { return row_stride(t, order).has_value(); });
  const cpu::Gemm sizes{.M = M,
                        .N = N,
                        .K = K,
                        .a_stride = *row_stride(a, row_major(a.rank())),
                        .b = matrix_of(weight),
                        .c_stride = *row_stride(c, order)};
  auto step = std::make_unique<GemmStep>(sizes, !planner.runs_once(), *epilogue);
  step->a = a.address();
  step->b = right.address();
  step->c = c.address();
  if (planner.runs_once())
    step->scratch_bytes =
        static_cast<std::size_t>(cpu::gemm_scratch_size(sizes, planner.queue().threads())) * sizeof(float);
  step->info.kernel = "gemm" + epilogue->text();
  std::vector<PlannedTensor> reads = epilogue->reads();
  reads.push_back(a);
  reads.push_back(right);
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
  return true;
}

}  // namespace tenon
