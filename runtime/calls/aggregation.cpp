#include "runtime/calls/aggregation.h"

#include <algorithm>

#include "ir/ops/index.h"
#include "ir/ops/row_sum.h"

namespace tenon {

std::optional<Aggregation> Aggregation::match(const Group& group) {
  const Node* add = group.members().back();
  const auto* op = add->as<IndexAdd>();
  if (!op || op->axis != 0 || group.results().size() != 1) return std::nullopt;
  const RowSum sum = row_sum(*add, [&](const Node& n) {
    return n.num_outputs() == 1 && group.contains(n.output()) && n.output()->uses().size() == 1;
  });
  const bool from_outside = !group.contains(sum.rows) && !(sum.weights && group.contains(sum.weights));
  if (sum.members.size() != group.members().size() || !from_outside) return std::nullopt;
  const auto outer = [&](const Value* v) { return v ? group.outer(v) : nullptr; };
  Aggregation a{.start = group.outer(add->input(0)),
                .targets = group.outer(add->input(1)),
                .x = group.outer(sum.rows),
                .sources = outer(sum.sources),
                .targets_from_end = op->from_end,
                .sources_from_end = sum.sources_from_end,
                .weights = outer(sum.weights)};
  const Shape& result = group.node().output()->shape();
  a.rows = result[0].value();
  a.cols = a.x->shape()[0].value();
  a.edges = numel(a.targets->shape()).value();
  if (a.rows == 0 || a.edges == 0 || numel(result) == 0) return std::nullopt;
  a.features = numel(result).value() / a.rows;
  if (a.weights) a.groups = numel(a.weights->shape()).value() / a.edges;
  return a;
}

Work Aggregation::work() const {
  const double moved = static_cast<double>(edges * (features + groups) + 2 * rows * features);
  return {.flops = 2.0 * static_cast<double>(edges * features),
          .bytes = moved * static_cast<double>(size_of(x->dtype())),
          .rows = rows,
          .columns = features,
          .depth = std::max<std::int64_t>(1, edges / rows)};
}

std::optional<std::int64_t> Aggregation::row_stride(const Strided& t, std::int64_t elements) {
  Index strides;
  const bool fits = t.can_view_as({t.shape()[0], elements}, &strides) && (elements == 1 || strides[1] == 1);
  return fits ? std::optional(strides[0]) : std::nullopt;
}

}  // namespace tenon
