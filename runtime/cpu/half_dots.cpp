// Products of matrices of 16-bit floats with a vector, in their own type.
#include "kernels/cpu/half_dots.h"

#include <algorithm>

#include "ir/ops/linear.h"
#include "runtime/calls/batched_matmul.h"
#include "runtime/calls/half_product.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

/// A product with a vector for each index of the batch axes.
class HalfDotsStep : public CpuStep {
 public:
  HalfDotsStep(DType type, BatchedLayout layout) : type_(type), layout_(std::move(layout)) {}

  void compute(const CpuFrame& frame) const override {
    std::int64_t count = 1;
    for (const BatchAxis& axis : layout_.batch) count *= axis.size;
    constexpr long elements_of_chunk = 1 << 15;
    const long per_chunk = std::max(4L, elements_of_chunk / std::max<long>(1, layout_.K) / 4 * 4);
    const long chunks = (layout_.M + per_chunk - 1) / per_chunk;
    frame.pool.parallel_for(count * chunks, [&](long i, int) {
      cpu::HalfDots dots{.type = type_,
                         .depth = layout_.K,
                         .a = frame.at<const std::uint16_t>(a),
                         .a_row = layout_.a_row,
                         .x = frame.at<const std::uint16_t>(x),
                         .y = frame.at<std::uint16_t>(y),
                         .bias = has_bias ? frame.at<const std::uint16_t>(bias) : nullptr};
      std::int64_t rest = i / chunks;
      for (std::size_t d = layout_.batch.size(); d-- > 0; rest /= layout_.batch[d].size) {
        const std::int64_t index = rest % layout_.batch[d].size;
        dots.a += index * layout_.batch[d].a;
        dots.x += index * layout_.batch[d].b;
        dots.y += index * layout_.batch[d].c;
      }
      const long first = i % chunks * per_chunk;
      cpu::half_dots(dots, first, std::min<long>(layout_.M, first + per_chunk));
    });
  }

  Address a, x, y, bias;
  bool has_bias = false;

 private:
  DType type_;
  BatchedLayout layout_;
};

void emit_half_dots(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor a = planner.dense(node.input(0)), x = planner.dense(node.input(1));
  const PlannedTensor y =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  auto step =
      std::make_unique<HalfDotsStep>(node.output()->dtype(), BatchedLayout::of(a, x, node.is<Linear>(), y));
  step->a = a.address();
  step->x = x.address();
  step->y = y.address();
  std::vector<PlannedTensor> reads{a, x};
  if (node.inputs().size() > 2) {
    reads.push_back(planner.dense(node.input(2)));
    step->bias = reads.back().address();
    step->has_bias = true;
  }
  planner.emit(std::move(step), node, std::move(reads), {y});
}

std::vector<Candidate> lower_half_dots(const Planner& planner, const Group& group) {
  const auto call = BatchedMatmulCall::match(group);
  if (!call || !multiplies_halves_by_vector(*call->anchor) || call->left->shape().back() == 0) return {};
  const Work work = call->work();
  constexpr double factor = 0.25;  // a vector reads each element of the matrix once
  return {
      {{.kernel = "half dots", .work = work, .seconds = planner.estimate(factor * work.flops, work.bytes)},
       emit_half_dots}};
}

}  // namespace

std::vector<OpLowering> half_dots_lowerings() {
  return {{.op = &op_info<MatMul>(), .lower = lower_half_dots, .alone = true},
          {.op = &op_info<Linear>(), .lower = lower_half_dots, .alone = true}};
}

}  // namespace tenon
