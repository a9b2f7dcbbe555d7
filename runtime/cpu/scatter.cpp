// scatter: elements written, or joined, along one axis where a tensor of indices says.
#include "ir/ops/index.h"
#include "runtime/calls/few_places.h"
#include "runtime/cpu/scatter_step.h"

namespace tenon {
namespace {

/// Not all of several bools: their mean, as that of integers, is 0.
bool averages(const Scatter& op, DType dtype) { return op.reduce == ScatterReduce::mean && !is_bool(dtype); }

std::optional<Reduce> join_of(const Scatter& op, DType dtype) {
  if (op.reduce == ScatterReduce::mean && !averages(op, dtype)) return Reduce::min;
  switch (op.reduce) {
    case ScatterReduce::sum:
    case ScatterReduce::mean: return Reduce::sum;
    case ScatterReduce::prod: return Reduce::prod;
    case ScatterReduce::amax: return Reduce::max;
    case ScatterReduce::amin: return Reduce::min;
    default: return std::nullopt;
  }
}

/// The sizes before the axis, along it, and behind it.
Index around(const Index& shape, std::int64_t axis) {
  Index sizes = {1, shape[static_cast<std::size_t>(axis)], 1};
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (const auto at = static_cast<std::int64_t>(i); at != axis) sizes[at < axis ? 0 : 2] *= shape[i];
  return sizes;
}

void emit_scatter(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto& op = *node.as<Scatter>();
  const auto fits = [&](const Strided& t) { return t.can_view_as(around(t.shape(), op.axis)); };
  const auto read = [&](const Value* v) {
    const PlannedTensor at = planner.assignment().at(v);
    return fits(at) ? at : planner.dense(v);
  };
  const auto strides = [&](const PlannedTensor& t) {
    Index found;
    t.can_view_as(around(t.shape(), op.axis), &found);
    return cpu::Scatter::Strides{found[0], found[1], found[2]};
  };
  const PlannedTensor x = x_of_scatter(planner, node.input(0));
  const auto element = element_of(planner, node.input(2));
  const PlannedTensor indices = read(node.input(1)), src = element ? *element : read(node.input(2));
  const Index sizes = around(indices.shape(), op.axis);
  emit_scatter_step(planner, node,
                    {.outer = sizes[0],
                     .count = sizes[1],
                     .inner = sizes[2],
                     .extent = x.shape()[static_cast<std::size_t>(op.axis)],
                     .dtype = x.dtype(),
                     .join = join_of(op, x.dtype()),
                     .include_self = op.include_self || op.reduce == ScatterReduce::none,
                     .averages = averages(op, x.dtype()),
                     .src_strides = strides(src),
                     .index_dtype = indices.dtype(),
                     .index_strides = strides(indices)},
                    {x, indices, src});
}

std::vector<Candidate> lower_scatter(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<Scatter>();
  if (!op) return {};
  const Value &x = *node.input(0), &indices = *node.input(1), &src = *node.input(2);
  const bool has_types =
      (op->reduce == ScatterReduce::none ? cpu::can_replace(x.dtype())
                                         : cpu::can_join(x.dtype()) || joins_few_halves(node)) &&
      (indices.dtype() == DType::i32 || indices.dtype() == DType::i64);
  if (!has_types || x.rank() == 0 || indices.shape() != src.shape() || numel(src.shape()) == Dim(0))
    return {};
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (static_cast<std::int64_t>(i) != op->axis && x.shape()[i] != src.shape()[i]) return {};
  const double elements = static_cast<double>(numel(src.shape()).value());
  const Work work{.flops = op->reduce == ScatterReduce::none ? 0 : elements,
                  .bytes = 2 * bytes_of(x.type()) + 2 * bytes_of(src.type()) + bytes_of(indices.type()),
                  .rows = static_cast<std::int64_t>(elements)};
  constexpr double operations = 100;  // one element after the other takes as long as so many of a product
  const CandidateInfo info{
      .kernel = "scatter", .work = work, .seconds = planner.estimate(operations * elements, work.bytes)};
  return {Candidate{info, emit_scatter}};
}

}  // namespace

std::vector<OpLowering> scatter_lowerings() {
  return {{.op = &op_info<Scatter>(), .lower = lower_scatter, .alone = true, .widens = true}};
}

}  // namespace tenon
