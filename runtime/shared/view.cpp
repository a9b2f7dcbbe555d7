// Operators that only look at memory differently: no step, or one copy where strides cannot say it.
#include "ir/ops/shape.h"
#include "runtime/shared/general.h"

namespace tenon {
namespace {

PlannedTensor flipped(PlannedTensor t, const Axes& axes) {
  for (const std::int64_t axis : axes) {
    const std::int64_t size = t.shape()[static_cast<std::size_t>(axis)];
    if (size > 0) t = t.slice(axis, size - 1, -1, -1);
  }
  return t;
}

void emit_reshape(Planner& planner, const Node& node) {
  const Value* out = node.output();
  const Index sizes = eval(out->shape(), {});
  BufferAssignment& assignment = planner.assignment();
  const PlannedTensor in = assignment.at(node.input());
  if (in.can_view_as(sizes)) return assignment.bind(out, in.view_as(sizes));
  const PlannedTensor target = assignment.assign(
      out, row_major(out->rank()), [&](const PlannedTensor& t) { return t.can_view_as(in.shape()); });
  planner.copy(in, target.view_as(in.shape()), &node);
}

void emit_view(Planner& planner, const Group& group) {
  const Node& node = group.node();
  BufferAssignment& assignment = planner.assignment();
  const PlannedTensor in = assignment.at(node.input());
  if (node.is<Reshape>()) {
    emit_reshape(planner, node);
  } else if (const auto* permute = node.as<Permute>()) {
    assignment.bind(node.output(), in.permute(permute->axes));
  } else if (const auto* slice = node.as<Slice>()) {
    assignment.bind(node.output(),
                    in.slice(slice->axis, slice->start.value(), slice->end.value(), slice->step));
  } else if (const auto* expand = node.as<Expand>()) {
    assignment.bind(node.output(), in.expand(eval(expand->shape, {})));
  } else {
    assignment.bind(node.output(), flipped(in, node.as<Flip>()->axes));
  }
}

}  // namespace

bool is_view(const Op& op) {
  return op.is<Reshape>() || op.is<Permute>() || op.is<Slice>() || op.is<Expand>() || op.is<Flip>();
}

std::vector<Candidate> lower_view(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (!is_view(node.op())) return {};
  const double copy = node.is<Reshape>()
                          ? planner.estimate_copy(node.input(),
                                                  [&](const Strided& t) {
                                                    return t.can_view_as(eval(node.output()->shape(), {}));
                                                  })
                          : 0;
  const CandidateInfo info{.kernel = "view", .seconds = copy};
  return {Candidate{info, emit_view}};
}

}  // namespace tenon
