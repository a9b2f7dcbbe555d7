// Sums of rows by index on a GPU: index_add, alone or behind the gather and weighting of a graph network's
// edges.
#include <algorithm>
#include <numeric>

#include "ir/ops/index.h"
#include "runtime/calls/aggregation.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/placed_fold.h"
#include "runtime/index_fault.h"

namespace tenon::gpu {
namespace {

bool has_sums(DType dtype) { return folds_rows(PlacedReduce::sum, dtype); }

Placement by_targets(Planner& planner, const Value* targets, std::int64_t rows, bool from_end) {
  const std::int64_t count = numel(targets->shape()).value();
  return {
      .sizes = {count},
      .operands = {{.indices = planner.dense(targets).view_as({count}), .range = rows, .from_end = from_end}},
      .places = rows};
}

/// Ends of edges that are constant, counted from the front; nullopt where they are not, or one is wrong.
std::optional<std::vector<std::int64_t>> known_ends(const Planner& planner, const Value* ends,
                                                    std::int64_t range, bool from_end) {
  const auto constant = planner.assignment().constant(ends);
  if (!constant) return std::nullopt;
  const Tensor dense = constant->to(DType::i64).contiguous();
  const auto* data = dense.data<std::int64_t>();
  std::vector<std::int64_t> list(data, data + dense.numel());
  for (std::int64_t& end : list) {
    if (!is_in_range(end, range, from_end)) return std::nullopt;
    if (end < 0) end += range;
  }
  return list;
}

Tensor integers(const std::vector<std::int64_t>& values) {
  Tensor t = Tensor::empty(DType::i32, {static_cast<std::int64_t>(values.size())});
  std::transform(values.begin(), values.end(), t.mutable_data<std::int32_t>(),
                 [](std::int64_t v) { return static_cast<std::int32_t>(v); });
  return t;
}

// Edges that are constant are sorted while the plan is made.
std::optional<PlacedEntries> sorted_now(Planner& planner, const Aggregation& a) {
  const auto targets = known_ends(planner, a.targets, a.rows, a.targets_from_end);
  if (!targets) return std::nullopt;
  std::vector<std::int64_t> numbers(targets->size()), starts(static_cast<std::size_t>(a.rows) + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  std::vector<std::int64_t> rows = numbers;
  if (a.sources) {
    auto sources = known_ends(planner, a.sources, a.cols, a.sources_from_end);
    if (!sources) return std::nullopt;
    rows = std::move(*sources);
  }
  const auto at = [](const std::vector<std::int64_t>& list, std::int64_t i) {
    return list[static_cast<std::size_t>(i)];
  };
  std::stable_sort(numbers.begin(), numbers.end(),
                   [&](std::int64_t i, std::int64_t j) { return at(*targets, i) < at(*targets, j); });
  for (const std::int64_t target : *targets) ++starts[static_cast<std::size_t>(target) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<std::int64_t> ordered;
  for (const std::int64_t number : numbers) ordered.push_back(at(rows, number));
  return PlacedEntries{planner.constant(integers(starts)), planner.constant(integers(ordered)),
                       planner.constant(integers(numbers))};
}

PlacedEntries sorted_by_steps(Planner& planner, const Aggregation& a) {
  std::optional<IndexOperand> source;
  if (a.sources)
    source = {.indices = planner.dense(a.sources), .range = a.cols, .from_end = a.sources_from_end};
  return entries_by_place(planner, by_targets(planner, a.targets, a.rows, a.targets_from_end), source);
}

// The layers of a network share one list of edges.
PlacedEntries sorted_edges(Planner& planner, const Aggregation& a) {
  std::optional<PlacedEntries> made;
  const auto part = [&](std::string_view name, PlannedTensor PlacedEntries::*which) {
    return planner.derived({a.targets, a.sources},
                           fmt::format("{} of a {}x{} matrix by row{}{}", name, a.rows, a.cols,
                                       a.targets_from_end ? ", rows counted from the end" : "",
                                       a.sources_from_end ? ", columns counted from the end" : ""),
                           [&] {
                             if (!made) made = sorted_now(planner, a);
                             if (!made) made = sorted_by_steps(planner, a);
                             return (*made).*which;
                           });
  };
  return {part("starts", &PlacedEntries::starts), part("sources", &PlacedEntries::rows),
          part("numbers", &PlacedEntries::numbers)};
}

// The value as a matrix with contiguous rows.
PlannedTensor matrix(Planner& planner, const Value* value, std::int64_t rows, std::int64_t columns) {
  const PlannedTensor at = planner.assignment().at(value);
  const bool fits = Aggregation::row_stride(at, columns).has_value();
  return (fits ? at : planner.dense(value)).view_as({rows, columns});
}

void emit_aggregation(Planner& planner, const Group& group, const Aggregation& a) {
  const Index rows{1, a.rows, a.features};
  PlacedFold fold{.x = in_rows(planner, a.start, rows),
                  .values = in_rows(planner, a.x, {1, a.cols, a.features})};
  if (a.weights) fold.weights = matrix(planner, a.weights, a.edges, a.groups);
  const PlacedEntries entries = sorted_edges(planner, a);
  fold.result = result_in_rows(planner, group.node(), a.start, fold.x);
  emit_placed_fold(planner, group.node(), entries, fold);
}

std::vector<Candidate> lower_aggregation(const Planner& planner, const Group& group) {
  const auto a = Aggregation::match(group);
  const DType dtype = group.node().output()->dtype();
  if (!a || !has_sums(dtype) || a->x->dtype() != dtype ||
      (a->weights && (a->weights->dtype() != dtype || is_complex(dtype))))
    return {};
  const auto fits = [](const Value* v) { return !v || are_indices(v->dtype()); };
  if (!fits(a->targets) || !fits(a->sources) ||
      !gpu::fits({.sizes = {a->edges}, .places = std::max(a->rows, a->cols)}))
    return {};
  const Work work = a->work();
  const CandidateInfo info{
      .kernel = "sparse product", .work = work, .seconds = planner.estimate(work.flops, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit_aggregation(p, g, *a); }}};
}

// Along other axes than the first.

struct Around {
  std::int64_t outer, rows, features;
};
Around around(const Value* x, std::int64_t axis) {
  const Index sizes = eval(x->shape(), {});
  const auto at = static_cast<std::size_t>(axis);
  return {numel(std::span(sizes).first(at)), sizes[at], numel(std::span(sizes).subspan(at + 1))};
}

void emit_index_add(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto& op = *node.as<IndexAdd>();
  const Around of_x = around(node.input(0), op.axis), of_values = around(node.input(2), op.axis);
  const Index rows{of_x.outer, of_x.rows, of_x.features};
  PlacedFold fold{
      .x = in_rows(planner, node.input(0), rows),
      .values = in_rows(planner, node.input(2), {of_values.outer, of_values.rows, of_values.features})};
  const PlacedEntries entries =
      entries_by_place(planner, by_targets(planner, node.input(1), of_x.rows, op.from_end));
  fold.result = result_in_rows(planner, node, node.input(0), fold.x);
  emit_placed_fold(planner, node, entries, fold);
}

std::vector<Candidate> lower_index_add(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<IndexAdd>();
  if (!op || Aggregation::match(group)) return {};
  const std::int64_t entries = numel(node.input(1)->shape()).value();
  if (entries == 0) return copy_of_first(planner, group);
  if (!has_sums(node.output()->dtype())) return {};
  if (!are_indices(node.input(1)->dtype()) || node.input(0)->rank() == 0 ||
      !fits({.sizes = {entries}, .places = around(node.input(0), op->axis).rows}))
    return {};
  const Work work{.flops = static_cast<double>(numel(node.input(2)->shape()).value()),
                  .bytes = 2 * bytes_of(node.output()->type()) + bytes_of(node.input(2)->type())};
  const CandidateInfo info{
      .kernel = "index add", .work = work, .seconds = planner.estimate(work.flops, work.bytes)};
  return {{info, emit_index_add}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_index_add_lowerings() {
  return {{.op = &op_info<IndexAdd>(), .lower = gpu::lower_aggregation},
          {.op = &op_info<IndexAdd>(), .lower = gpu::lower_index_add, .alone = true}};
}

}  // namespace tenon
