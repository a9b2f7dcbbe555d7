#include "runtime/calls/aggregation.h"

#include <algorithm>

#include "ir/ops/arithmetic.h"
#include "ir/ops/index.h"
#include "ir/ops/row_weights.h"
#include "ir/ops/slices_by_index.h"

namespace tenon {

std::optional<Aggregation> Aggregation::match(const Group& group) {
  const Node* add = group.members().back();
  const auto* op = add->as<IndexAdd>();
  if (!op || op->axis != 0 || group.results().size() != 1) return std::nullopt;
  Aggregation a{.start = group.outer(add->input(0)),
                .targets = group.outer(add->input(1)),
                .x = add->input(2),
                .targets_from_end = op->from_end};
  std::size_t matched = 1;
  const auto inside = [&](const Value* v) { return group.contains(v) && v->uses().size() == 1; };
  if (inside(a.x) && a.x->node()->is<Mul>()) {
    const Node& mul = *a.x->node();
    const auto rows = weighted_rows(mul);
    if (!rows || group.contains(mul.input(1 - *rows))) return std::nullopt;
    a.weights = group.outer(mul.input(1 - *rows));
    a.x = mul.input(*rows);
    ++matched;
  }
  if (const auto slices = inside(a.x) ? slices_by_index(*a.x->node()) : std::nullopt) {
    const Node& gather = *a.x->node();
    if (slices->axis != 0 || gather.input(1)->rank() != 1) return std::nullopt;
    a.sources = group.outer(gather.input(1));
    a.sources_from_end = slices->from_end;
    a.x = gather.input(0);
    ++matched;
  }
  if (matched != group.members().size() || group.contains(a.x)) return std::nullopt;
  a.x = group.outer(a.x);
  const Shape& result = group.node().output()->shape();
  a.rows = result[0].value();
  a.cols = a.x->shape()[0].value();
  a.edges = numel(a.targets->shape()).value();
  if (a.rows == 0 || a.edges == 0 || numel(result) == 0) return std::nullopt;
  a.features = numel(result).value() / a.rows;
  return a;
}

Work Aggregation::work() const {
  const double moved = static_cast<double>((edges + 2 * rows) * features);
  return {.flops = 2.0 * static_cast<double>(edges * features),
          .bytes = moved * static_cast<double>(size_of(x->dtype())),
          .rows = rows,
          .columns = features,
          .depth = std::max<std::int64_t>(1, edges / rows)};
}

std::optional<std::int64_t> Aggregation::row_stride(const Strided& t) const {
  Index strides;
  const bool fits = t.can_view_as({t.shape()[0], features}, &strides) && (features == 1 || strides[1] == 1);
  return fits ? std::optional(strides[0]) : std::nullopt;
}

}  // namespace tenon
