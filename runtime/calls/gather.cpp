#include "runtime/calls/gather.h"

#include "ir/ops/slices_by_index.h"

namespace tenon {

std::optional<GatherCall> GatherCall::match(const Group& group) {
  const Node& node = group.node();
  const auto op = slices_by_index(node);
  if (!op) return std::nullopt;
  const Index sizes = eval(node.input(0)->shape(), {});
  GatherCall call{.table = node.input(0),
                  .indices = node.input(1),
                  .outer = numel(std::span(sizes).first(op->axis)),
                  .count = numel(node.input(1)->shape()).value(),
                  .table_rows = sizes[op->axis],
                  .row = numel(std::span(sizes).subspan(op->axis + 1)),
                  .from_end = op->from_end};
  return call.outer * call.count * call.row == 0 ? std::nullopt : std::optional(call);
}

Work GatherCall::work() const {
  const double out = static_cast<double>(outer * count * row) * static_cast<double>(size_of(table->dtype()));
  return {.bytes = 2 * out + bytes_of(indices->type()), .batch = outer, .rows = count, .columns = row};
}

std::optional<Index> strides_as(const Strided& t, const Index& shape) {
  Index strides;
  if (!t.can_view_as(shape, &strides) || (shape.back() > 1 && strides.back() != 1)) return std::nullopt;
  return strides;
}

}  // namespace tenon
