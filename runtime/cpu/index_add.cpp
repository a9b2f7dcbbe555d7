// index_add of any slices: joined one after the other, as scatter does with one index for all of a slice.
#include "ir/ops/index.h"
#include "runtime/cpu/scatter_step.h"

namespace tenon {
namespace {

void emit_index_add(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto axis = static_cast<std::size_t>(node.as<IndexAdd>()->axis);
  const PlannedTensor x = planner.dense(node.input(0)), indices = planner.dense(node.input(1));
  const PlannedTensor src = planner.dense(node.input(2));
  const std::int64_t outer = numel(std::span(x.shape()).first(axis));
  const std::int64_t inner = numel(std::span(x.shape()).subspan(axis + 1)), count = src.shape()[axis];
  emit_scatter_step(planner, node,
                    {.outer = outer,
                     .count = count,
                     .inner = inner,
                     .extent = x.shape()[axis],
                     .dtype = x.dtype(),
                     .join = Reduce::sum,
                     .src_strides = {count * inner, inner, 1},
                     .index_dtype = indices.dtype(),
                     .index_strides = {0, 1, 0}},
                    {x, indices, src});
}

std::vector<Candidate> lower_index_add(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Value &x = *node.input(0), &indices = *node.input(1), &src = *node.input(2);
  const DType dtype = x.dtype(), index = indices.dtype();
  const bool has_types =
      (dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64) &&
      (index == DType::i32 || index == DType::i64);
  if (!has_types || node.as<IndexAdd>()->from_end || x.rank() == 0 || indices.rank() != 1 ||
      src.rank() != x.rank() || numel(src.shape()) == Dim(0) || numel(x.shape()) == Dim(0))
    return {};
  const double elements = static_cast<double>(numel(src.shape()).value());
  const Work work{.flops = elements,
                  .bytes = 2 * bytes_of(x.type()) + 2 * bytes_of(src.type()) + bytes_of(indices.type())};
  const auto axis = static_cast<std::size_t>(node.as<IndexAdd>()->axis);
  const bool has_slices = axis + 1 < x.rank() && x.shape().back() != Dim(1);
  const double operations = has_slices ? 30 : 100;  // of a product, in the time that one element takes
  return {
      {{.kernel = "index add", .work = work, .seconds = planner.estimate(operations * elements, work.bytes)},
       emit_index_add}};
}

}  // namespace

std::vector<OpLowering> index_add_lowerings() {
  return {{.op = &op_info<IndexAdd>(), .lower = lower_index_add, .alone = true}};
}

}  // namespace tenon
