// scatter and index_put on a GPU: elements or rows written, or joined, where indices say.
#include "ir/ops/index.h"
#include "ir/ops/index_places.h"
#include "runtime/calls/gather.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/placed_fold.h"

namespace tenon::gpu {
namespace {

PlacedReduce reduce_of(ScatterReduce reduce) {
  switch (reduce) {
    case ScatterReduce::none: return PlacedReduce::last;
    case ScatterReduce::sum: return PlacedReduce::sum;
    case ScatterReduce::prod: return PlacedReduce::prod;
    case ScatterReduce::amax: return PlacedReduce::max;
    case ScatterReduce::amin: return PlacedReduce::min;
    case ScatterReduce::mean: return PlacedReduce::mean;
  }
  TENON_CHECK(false);
}

// Every element is a place, and every index an entry: what the entries' own positions say of their places.
Placement entries_of(const Node& node) {
  const Index x = eval(node.input(0)->shape(), {});
  Placement p{.sizes = eval(node.input(1)->shape(), {}), .base = contiguous_strides(x), .places = numel(x)};
  p.base[static_cast<std::size_t>(node.as<Scatter>()->axis)] = 0;
  return p;
}

void emit_scatter(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto& op = *node.as<Scatter>();
  const auto axis = static_cast<std::size_t>(op.axis);
  const PlannedTensor indices = planner.assignment().at(node.input(1));
  PlannedTensor values = planner.assignment().at(node.input(2));
  for (std::size_t d = 0; d < values.rank(); ++d)
    values = values.slice(static_cast<std::int64_t>(d), 0, indices.shape()[d]);
  values = dense(planner, values);
  const PlannedTensor x = planner.dense(node.input(0));
  Placement p = entries_of(node);
  p.operands = {{.indices = indices, .range = x.shape()[axis], .step = x.strides()[axis]}};
  const PlacedEntries entries = entries_by_place(planner, p);
  const PlannedTensor rows = x.view_as({1, x.numel(), 1});
  emit_placed_fold(planner, node, entries,
                   {.reduce = reduce_of(op.reduce),
                    .x = rows,
                    .values = values.view_as({1, values.numel(), 1}),
                    .result = result_in_rows(planner, node, node.input(0), rows),
                    .with_self = op.include_self || op.reduce == ScatterReduce::none});
}

Work work_of(const Node& node, const Value& values) {
  return {.flops = static_cast<double>(numel(values.shape()).value()),
          .bytes = 2 * bytes_of(node.output()->type()) + bytes_of(values.type())};
}

std::vector<Candidate> lower_scatter(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<Scatter>();
  if (op && numel(node.input(1)->shape()).value() == 0) return copy_of_first(planner, group);
  if (!op || node.input(0)->rank() == 0 || !are_indices(node.input(1)->dtype()) ||
      !folds_rows(reduce_of(op->reduce), node.output()->dtype()) || !fits(entries_of(node)))
    return {};
  const Work work = work_of(node, *node.input(1));
  const CandidateInfo info{
      .kernel = "scatter", .work = work, .seconds = planner.estimate(work.flops, work.bytes)};
  return {{info, emit_scatter}};
}

/// How index_put sees x: the listed axes as places, in row-major order.
struct Put {
  Axes order;        // of x's axes, as [outer, places, features]
  Index rows;        // these sizes
  Axes value_order;  // of the values' axes, likewise
  Index value_rows;
  Index places;    // the indices, broadcast together
  Index expanded;  // the shape that the values are broadcast to
  Index listed;    // sizes of the listed axes

  explicit Put(const Node& node) {
    const Axes& axes = node.as<IndexPut>()->axes;
    const Index sizes = eval(node.input(0)->shape(), {});
    std::vector<Type> types;
    for (std::size_t i = 2; i < node.inputs().size(); ++i) types.push_back(node.input(i)->type());
    const Shape all = index_places(node.input(0)->type(), axes, types);
    places = eval(all, {});
    expanded = eval(indexed_shape(node.input(0)->shape(), axes, all), {});
    for (const std::int64_t axis : axes) listed.push_back(sizes[static_cast<std::size_t>(axis)]);
    bool in_place = true;  // side by side in their order: what stands before them is `outer`
    for (std::size_t k = 1; k < axes.size(); ++k) in_place = in_place && axes[k] == axes[k - 1] + 1;
    const std::size_t before = in_place ? static_cast<std::size_t>(axes[0]) : 0;
    order = in_place ? row_major(sizes.size()) : listed_first(sizes.size(), axes);
    value_order = in_place ? row_major(expanded.size())
                           : places_first(expanded.size(), places_front(axes), places.size());
    const std::int64_t outer = numel(std::span(sizes).first(before)), names = numel(listed);
    const std::int64_t features = numel(sizes) / std::max<std::int64_t>(1, outer * names);
    rows = {outer, names, features};
    value_rows = {outer, numel(places), features};
  }
};

PlannedTensor rows_in_order(Planner& planner, const PlannedTensor& tensor, const Axes& order,
                            const Index& rows) {
  const PlannedTensor permuted = tensor.permute(order);
  return (strides_as(permuted, rows) ? permuted : dense(planner, permuted)).view_as(rows);
}

Placement placement_of(Planner& planner, const Node& node, const Put& put) {
  Placement p{.sizes = put.places, .places = put.rows[1]};
  std::int64_t step = 1;
  for (std::size_t k = put.listed.size(); k-- > 0; step *= put.listed[k])
    p.operands.push_back({.indices = planner.assignment().at(node.input(2 + k)).expand(put.places),
                          .range = put.listed[k],
                          .step = step,
                          .from_end = true});
  return p;
}

void emit_index_put(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Put put(node);
  PlacedFold fold{.reduce = node.as<IndexPut>()->accumulate ? PlacedReduce::sum : PlacedReduce::last};
  fold.x = rows_in_order(planner, planner.assignment().at(node.input(0)), put.order, put.rows);
  fold.values = rows_in_order(planner, planner.assignment().at(node.input(1)).expand(put.expanded),
                              put.value_order, put.value_rows);
  const PlacedEntries entries = entries_by_place(planner, placement_of(planner, node, put));
  fold.result = result_in_rows(planner, node, node.input(0), fold.x, put.order, put.rows);
  emit_placed_fold(planner, node, entries, fold);
}

std::vector<Candidate> lower_index_put(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<IndexPut>();
  if (!op || op->axes.empty() || node.inputs().size() != 2 + op->axes.size()) return {};
  for (std::size_t i = 2; i < node.inputs().size(); ++i)
    if (!are_indices(node.input(i)->dtype())) return {};
  const Put put(node);
  if (numel(put.places) == 0) return copy_of_first(planner, group);
  if (!folds_rows(op->accumulate ? PlacedReduce::sum : PlacedReduce::last, node.output()->dtype()) ||
      !fits({.sizes = put.places, .places = put.rows[1]}))
    return {};
  const Work work = work_of(node, *node.input(1));
  const CandidateInfo info{
      .kernel = "index put", .work = work, .seconds = planner.estimate(work.flops, work.bytes)};
  return {{info, emit_index_put}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_scatter_lowerings() {
  return {{.op = &op_info<Scatter>(), .lower = gpu::lower_scatter, .alone = true},
          {.op = &op_info<IndexPut>(), .lower = gpu::lower_index_put, .alone = true}};
}

}  // namespace tenon
