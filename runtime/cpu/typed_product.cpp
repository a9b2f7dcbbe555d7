// Products in float64 and of integers, and float32 products with a vector or of small matrices: they read
// both sides as they lie.
#include "kernels/cpu/typed_product.h"

#include "ir/ops/linear.h"
#include "runtime/calls/batched_matmul.h"
#include "runtime/constant_value.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

template <class T>
class TypedProductStep : public CpuStep {
 public:
  TypedProductStep(const cpu::TypedProduct<T>& product, std::vector<BatchAxis> outer, int threads)
      : product_(product), outer_(std::move(outer)) {
    scratch_bytes = cpu::typed_product_scratch_size(product_, threads);
  }

  void compute(const CpuFrame& frame) const override {
    std::int64_t count = 1;
    for (const BatchAxis& axis : outer_) count *= axis.size;
    for (std::int64_t i = 0; i < count; ++i) {
      cpu::TypedProduct<T> p = product_;
      p.a = frame.at<const T>(a);
      p.b = frame.at<const T>(b);
      p.c = frame.at<T>(c);
      if (bias) p.bias = frame.at<const T>(*bias);
      std::int64_t rest = i;
      for (std::size_t d = outer_.size(); d-- > 0; rest /= outer_[d].size) {
        const std::int64_t index = rest % outer_[d].size;
        p.a += index * outer_[d].a;
        p.b += index * outer_[d].b;
        p.c += index * outer_[d].c;
      }
      cpu::typed_product(p, frame.scratch, frame.pool);
    }
  }

  Address a, b, c;
  std::optional<Address> bias;

 private:
  cpu::TypedProduct<T> product_;
  std::vector<BatchAxis> outer_;
};

template <class T>
cpu::TypedProduct<T> product_of(const BatchedLayout& layout) {
  cpu::TypedProduct<T> product{.M = layout.M, .N = layout.N, .K = layout.K};
  product.a_row = layout.a_row;
  product.a_column = layout.a_column;
  product.b_row = layout.b_row;
  product.b_column = layout.b_column;
  product.c_row = layout.c_row;
  return product;
}

template <class T>
void emit_of(Planner& planner, const Group& group, const BatchedMatmulCall& call) {
  const PlannedTensor a = planner.assignment().at(call.left), b = planner.assignment().at(call.right);
  const PlannedTensor c =
      planner.assignment().assign(group.node().output(), row_major(group.node().output()->rank()),
                                  [](const PlannedTensor& t) { return last_axis_is_contiguous(t); });
  BatchedLayout layout = BatchedLayout::of(a, b, call.right_is_transposed, c);
  cpu::TypedProduct<T> product = product_of<T>(layout);
  if (!layout.batch.empty()) {
    const BatchAxis& inner = layout.batch.back();
    product.batch = inner.size;
    product.a_batch = inner.a;
    product.b_batch = inner.b;
    product.c_batch = inner.c;
    layout.batch.pop_back();
  }
  auto step = std::make_unique<TypedProductStep<T>>(product, std::move(layout.batch), planner.threads());
  std::vector<PlannedTensor> reads{a, b};
  if (call.bias) {
    reads.push_back(planner.dense(group.outer(call.bias)));
    step->bias = reads.back().address();
  }
  step->a = a.address();
  step->b = b.address();
  step->c = c.address();
  planner.emit(std::move(step), group.node(), std::move(reads), {c});
}

using Emit = void (*)(Planner&, const Group&, const BatchedMatmulCall&);
Emit emit_for(DType dtype) {
  switch (dtype) {
    case DType::f32: return emit_of<float>;
    case DType::f64: return emit_of<double>;
    case DType::i32: return emit_of<std::int32_t>;
    case DType::i64: return emit_of<std::int64_t>;
    default: return nullptr;
  }
}

std::vector<Candidate> lower_typed_product(const Planner& planner, const Group& group) {
  const auto call = BatchedMatmulCall::match(group);
  if (!call || call->left->shape().back() == 0) return {};
  const Node& node = group.node();
  const DType dtype = call->left->dtype();
  const Emit emit = emit_for(dtype);
  if (!emit || (call->bias && group.outer(call->bias)->rank() != 1)) return {};
  const Work work = call->work();
  const bool is_vector = std::min(work.rows, work.columns) == 1;
  // Float32 has a tile of its own, which packs the right side: that pays for more than a vector, and for a
  // weight. A file's pages are small; packed weights lie in large ones, and are read a third faster.
  const auto is_packed = [&] { return !planner.runs_once() && ConstantValue(call->right).is_constant(); };
  const bool is_small =
      product_of<float>(BatchedLayout::of(planner.assignment().layout(call->left),
                                          planner.assignment().layout(call->right), call->right_is_transposed,
                                          dense_layout(node.output()->type())))
          .is_small();
  if (dtype == DType::f32 && ((!is_vector && !is_small) || call->bias || is_packed())) return {};
  // A vector reads each element of the matrix once; more rows take wider elements through the same units.
  const double of_float = is_small ? 1.05 : 1.5;
  const double factor =
      is_vector ? 0.25 : of_float * static_cast<double>(size_of(dtype)) / (dtype == DType::i64 ? 2 : 4);
  return {{{.kernel = "typed product",
            .work = work,
            .seconds = planner.estimate(factor * work.flops, work.bytes)},
           [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace

std::vector<OpLowering> typed_product_lowerings() {
  return {{.op = &op_info<MatMul>(), .lower = lower_typed_product, .alone = true},
          {.op = &op_info<Linear>(), .lower = lower_typed_product, .alone = true}};
}

}  // namespace tenon
