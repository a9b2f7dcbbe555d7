// Products with a constant matrix, packed once: linear, and matmul by a weight.
#include <algorithm>

#include "ir/ops/linear.h"
#include "kernels/cpu/gemm.h"
#include "runtime/steps/epilogue.h"
#include "runtime/steps/makers.h"

namespace tenon {
namespace {

class GemmStep : public Step {
 public:
  GemmStep(const cpu::Gemm& sizes, GroupEpilogue epilogue) : sizes_(sizes), epilogue_(std::move(epilogue)) {}

  void run(const Frame& frame) const override {
    GroupEpilogue::Running running;
    cpu::Gemm g = sizes_;
    g.a = frame.at<const float>(a);
    g.packed_b = frame.at<const float>(packed);
    g.c = frame.at<float>(c);
    g.epilogue = epilogue_.bind(frame, running);
    cpu::gemm(g, frame.pool);
  }

  Address a, packed, c;

 private:
  cpu::Gemm sizes_;
  GroupEpilogue epilogue_;
};

// The constant operand as [K, N].
cpu::MatrixB matrix_of(const Node& anchor, const Tensor& weight) {
  const auto& s = weight.strides();
  if (anchor.is<Linear>()) return {weight.data<float>(), s[1], s[0]};
  return {weight.data<float>(), s[0], s[1]};
}

}  // namespace

bool make_linear(Planner& planner, const Group& group) {
  const Node* anchor = find_anchor(group, op_info<Linear>());
  if (!anchor) anchor = find_anchor(group, op_info<MatMul>());
  if (!anchor) return false;
  const Value* x = group.outer(anchor->input(0));
  const Tensor* weight = planner.places().constant(group.outer(anchor->input(1)));
  if (!weight || weight->rank() != 2 || x->dtype() != DType::f32) return false;
  const Order order = row_major(anchor->output()->rank());
  const Value* bias = anchor->inputs().size() > 2 ? anchor->input(2) : nullptr;
  auto epilogue = GroupEpilogue::find(planner, group, *anchor, bias, order);
  if (!epilogue) return false;

  const std::int64_t N = anchor->output()->shape().back().value();
  const std::int64_t K = x->shape().back().value();
  const std::int64_t M = numel(anchor->output()->shape()).value() / std::max<std::int64_t>(N, 1);
  if (M == 0 || N == 0 || K == 0) return false;
  const cpu::MatrixB b = matrix_of(*anchor, *weight);
  const std::string form = fmt::format("gemm {}x{} strides {} {}", K, N, b.k_stride, b.n_stride);
  const Tensor packed = planner.packs().get(*weight, form, cpu::packed_b_size(K, N),
                                            [&](float* to) { cpu::pack_b(K, N, b, to, planner.pool()); });

  const Tensor a = planner.rows(x, row_major(x->rank()));
  const Tensor c = epilogue->place_result(planner, group, order,
                                          [&](const Tensor& t) { return row_stride(t, order).has_value(); });
  const cpu::Gemm sizes{.M = M,
                        .N = N,
                        .K = K,
                        .a_stride = *row_stride(a, row_major(a.rank())),
                        .c_stride = *row_stride(c, order)};
  auto step = std::make_unique<GemmStep>(sizes, *epilogue);
  step->a = planner.address(a);
  step->packed = planner.address(packed);
  step->c = planner.address(c);
  step->info.kernel = "gemm" + epilogue->text();
  std::vector<Tensor> reads = epilogue->reads();
  reads.push_back(a);
  reads.push_back(packed);
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
  return true;
}

}  // namespace tenon
