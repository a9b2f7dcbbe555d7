// Products of matrices on a GPU, with all that their group does before and behind them.
#include <algorithm>

#include "ir/ops/linear.h"
#include "runtime/calls/batched_matmul.h"
#include "runtime/calls/matmul.h"
#include "runtime/gpu/byte_product.h"
#include "runtime/gpu/coded_weights.h"
#include "runtime/gpu/product_candidates.h"

namespace tenon::gpu {
namespace {

Product product_of(const BatchedLayout& layout, const LeftSide& left, const PlannedTensor& right) {
  Product product{.left_type = left.layout.dtype(),
                  .right_type = right.dtype(),
                  .rows = layout.M,
                  .columns = layout.N,
                  .depth = layout.K,
                  .left_row = layout.a_row,
                  .left_column = layout.a_column,
                  .right_row = layout.b_row,
                  .right_column = layout.b_column,
                  .left_offset = left.layout.offset(),
                  .right_offset = right.offset(),
                  .prologue = left.prologue};
  if (!left.prologue.empty()) product.left_row = product.left_column = 1;  // they count rows and columns
  for (const BatchAxis& axis : layout.batch) product.batch.push_back({axis.size, axis.a, axis.b});
  return product;
}

// A constant matrix [K, N], such that its columns lie along their depth.
PlannedTensor columns_of(Planner& planner, const Tensor& weight) {
  if (weight.strides()[0] == 1) return planner.constant(weight);
  const Index shape{weight.shape()[1], weight.shape()[0]};
  const auto bytes = static_cast<std::size_t>(weight.numel()) * size_of(weight.dtype());
  const Tensor packed =
      planner.weights().packed(weight, "columns along the depth", bytes, [&](const Tensor& w, std::byte* to) {
        const Tensor rows = w.permute(Index{1, 0}).contiguous();
        std::copy_n(rows.bytes(), bytes, to);
      });
  return planner
      .constant(Tensor::view_of(packed.storage(), weight.dtype(), shape, contiguous_strides(shape), 0))
      .permute(Index{1, 0});
}

// A weight in codes, whatever the rank of the left side.
Sides place_coded(Planner& planner, const Parts& parts, const CodedCall& coded) {
  const QuantizedMatrix& matrix = coded.call.matrix;
  LeftSide left = parts.left(planner, coded.call.x, row_major(coded.call.x->rank()));
  const auto of_rows = [](const Strided& t) { return t.rank() > 1 ? t : t.expand(Index{1, t.shape()[0]}); };
  const Strided right(DType::u8, {matrix.K(), matrix.N()}, {1, matrix.K()}, 0);
  const BatchedLayout layout = BatchedLayout::of(of_rows(left.layout), right, false,
                                                 of_rows(dense_layout(coded.call.anchor->output()->type())));
  const PlannedTensor weights = coded.weights(planner);
  Product product = product_of(layout, left, weights);
  product.right_type = product.left_type;
  product.codes = {coded.codes};
  return {std::move(left.buffers), weights, std::move(product)};
}

std::vector<Candidate> lower_coded(const Planner& planner, const Group& group) {
  const Parts parts = Parts::of(group);
  const auto coded = CodedCall::match(planner, parts.rest);
  if (!coded) return {};
  const Node& anchor = *coded->call.anchor;
  return product_candidates(planner, parts, anchor, coded->call.bias, row_major(anchor.output()->rank()),
                            coded->call.work(static_cast<double>(coded->bytes())), "product",
                            [parts, coded](Planner& p) { return place_coded(p, parts, *coded); });
}

PlannedTensor zero_point(Planner& planner, const Value* zero) {
  const auto constant = planner.assignment().constant(zero);
  return constant ? planner.constant(*constant) : planner.assignment().at(zero);
}

Sides place_bytes(Planner& planner, const ByteCall& call) {
  const LeftSide left = as_it_lies(planner, call.left.bytes);
  const PlannedTensor right = call.weights  ? call.weights->place(planner)
                              : call.matrix ? columns_of(planner, *call.matrix)
                                            : planner.assignment().at(call.right.bytes);
  const BatchedLayout layout =
      BatchedLayout::of(left.layout, right, call.anchor->is<Linear>() && call.right.bytes,
                        dense_layout(call.anchor->output()->type()));
  Sides sides{left.buffers, right, product_of(layout, left, right)};
  if (call.left.zero) {
    sides.zeros.push_back(zero_point(planner, call.left.zero));
    sides.product.left_zeros = 0;
  }
  if (call.weights && call.weights->has_zeros()) {
    sides.zeros.push_back(call.weights->place_zeros(planner));
    sides.product.right_zeros = 1;
  } else if (call.right.zero) {
    sides.zeros.push_back(zero_point(planner, call.right.zero));
    sides.product.right_zeros = 0;
  }
  return sides;
}

std::vector<Candidate> lower_bytes(const Planner& planner, const Group& group) {
  const auto call = ByteCall::match(planner, group);
  if (!call) return {};
  return product_candidates(planner, Parts(group), *call->anchor, call->bias,
                            row_major(call->anchor->output()->rank()), call->work(), "product",
                            [call](Planner& p) { return place_bytes(p, *call); });
}

// What has kernels that read codes has no others: no copy in floats is made.
std::vector<Candidate> lower_matmul(const Planner& planner, const Group& group) {
  const Parts parts = Parts::of(group);
  if (CodedCall::match(planner, parts.rest) || ByteCall::match(planner, group)) return {};
  const auto call = BatchedMatmulCall::match(parts.rest);
  if (!call || !multiplies(call->left->dtype(), call->right->dtype())) return {};
  std::optional<Tensor> weight;
  if (const auto constant = MatmulCall::match(planner, parts.rest)) weight = constant->weight;
  const auto place = [parts, call, weight](Planner& p) {
    LeftSide left = parts.left(p, call->left, row_major(call->left->rank()));
    const PlannedTensor right = weight ? columns_of(p, *weight) : p.assignment().at(call->right);
    const BatchedLayout layout = BatchedLayout::of(left.layout, right, call->right_is_transposed && !weight,
                                                   dense_layout(call->anchor->output()->type()));
    Product product = product_of(layout, left, right);
    return Sides{std::move(left.buffers), right, std::move(product)};
  };
  return product_candidates(planner, parts, *call->anchor, call->bias,
                            row_major(call->anchor->output()->rank()), call->work(), "product", place,
                            call->left->dtype());
}

// One row times a matrix.
std::vector<Candidate> lower_row(const Planner& planner, const Group& group) {
  if (CodedCall::match(planner, group)) return {};
  const auto call = MatmulCall::match(planner, group);
  if (!call || call->anchor->output()->rank() != 1) return {};
  if (!multiplies(call->x->dtype(), call->weight.dtype())) return {};
  const auto place = [call](Planner& p) {
    const PlannedTensor left = p.assignment().at(call->x), right = columns_of(p, call->weight);
    return Sides{{left},
                 right,
                 {.left_type = left.dtype(),
                  .right_type = right.dtype(),
                  .rows = 1,
                  .columns = call->N,
                  .depth = call->K,
                  .left_column = left.strides()[0],
                  .right_row = right.strides()[0],
                  .right_column = right.strides()[1],
                  .left_offset = left.offset(),
                  .right_offset = right.offset()}};
  };
  return product_candidates(planner, Parts(group), *call->anchor, call->bias, row_major(1), call->work(),
                            "product", place);
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_product_lowerings() {
  return {{&op_info<Linear>(), gpu::lower_matmul}, {&op_info<MatMul>(), gpu::lower_matmul},
          {&op_info<Linear>(), gpu::lower_coded},  {&op_info<MatMul>(), gpu::lower_coded},
          {&op_info<Linear>(), gpu::lower_bytes},  {&op_info<MatMul>(), gpu::lower_bytes},
          {&op_info<Linear>(), gpu::lower_row},    {&op_info<MatMul>(), gpu::lower_row}};
}

}  // namespace tenon
