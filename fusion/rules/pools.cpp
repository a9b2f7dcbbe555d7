// PyTorch decomposes a max pool into one that also says where the maxima are, and a 1-d one into a 2-d one.
#include "fusion/rules/rules.h"
#include "ir/ops/functions.h"
#include "ir/ops/pool.h"
#include "ir/ops/reduce.h"
#include "ir/ops/shape.h"

namespace tenon {

void drop_pool_indices(Rewriter& rewriter) {
  constexpr std::string_view name = "pool_indices_not_read";
  std::vector<Node*> pools;
  for (const auto& node : rewriter.graph().body().nodes())
    if (node->is<MaxPoolIndices>() && node->output(1)->uses().empty()) pools.push_back(node.get());
  for (Node* node : pools) {
    if (!rewriter.allowed(name, *node)) continue;
    const MaxPoolIndices& old = *node->as<MaxPoolIndices>();
    const MaxPool pool{.kernel = old.kernel,
                       .stride = old.stride,
                       .pad = old.pad,
                       .dilation = old.dilation,
                       .ceil = old.ceil};
    Node* added = node->parent().insert(pool, node->inputs(), node, node->source);
    replace_all_uses(node->output(0), added->output());
    rewriter.record(name, node->source, added);
    node->parent().erase(node);
  }
}

namespace {

/// The same sizes without the axis of 1 before the last.
bool drops_row(const Shape& with, const Shape& without) {
  if (with.size() != without.size() + 1 || with[with.size() - 2] != Dim(1)) return false;
  return std::equal(without.begin(), without.end() - 1, with.begin()) && without.back() == with.back();
}

/// [1, k] where `one` leaves an axis of size 1 as it is.
bool is_row(const Axes& axes, std::int64_t one) { return axes.size() == 2 && axes[0] == one; }

}  // namespace

Rule max_pool_of_row() {
  return {.name = "max_pool_of_row",
          .patterns = {op<Reshape>(op<MaxPool>(op<Reshape>(hole("x"))))},
          .when =
              [](const Match& m) {
                const Node& pool = *m.find(op_info<MaxPool>());
                const MaxPool& p = *pool.as<MaxPool>();
                return m["x"]->rank() == 3 && pool.output()->rank() == 4 &&
                       drops_row(pool.input()->shape(), m["x"]->shape()) &&
                       drops_row(pool.output()->shape(), m.root()->output()->shape()) &&
                       is_row(p.kernel, 1) && is_row(p.stride, 1) && is_row(p.pad, 0) &&
                       is_row(p.dilation, 1);
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const MaxPool& p = m.op<MaxPool>();
                const MaxPool row{.kernel = {p.kernel[1]},
                                  .stride = {p.stride[1]},
                                  .pad = {p.pad[1]},
                                  .dilation = {p.dilation[1]},
                                  .ceil = p.ceil};
                return apply(row, {Ref(m["x"], point)});
              }};
}

// Exporters write the pool of a whole map as a mean over its two axes.
Rule mean_to_pool() {
  return {.name = "mean_to_pool",
          .patterns = {op<Mean>(hole("x"))},
          .when =
              [](const Match& m) {
                const Value& x = *m["x"];
                return x.rank() == 4 && is_float(x.dtype()) && m.op<Mean>().axes == Axes{2, 3};
              },
          .build =
              [](const Match& m, const InsertionPoint& point) {
                const Ref pooled = apply(AdaptiveAvgPool{.output = {Dim(1), Dim(1)}}, {Ref(m["x"], point)});
                return m.op<Mean>().keepdim ? pooled : reshape(pooled, m.root()->output()->shape());
              }};
}

}  // namespace tenon
