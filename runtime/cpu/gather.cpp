// index_select, and index along one axis: rows copied from the places that indices name.
#include "kernels/cpu/gather.h"

#include "base/error.h"
#include "ir/ops/slices_by_index.h"
#include "runtime/cpu/makers.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class GatherStep : public CpuStep {
 public:
  explicit GatherStep(const cpu::GatherRows& gather) : gather_(gather) {
    info.kernel = "gather";
    faults = 1;
  }

  void compute(const CpuFrame& frame) const override {
    cpu::GatherRows gather = gather_;
    gather.table = frame.at<const void>(table);
    gather.indices = frame.at<const void>(indices);
    gather.out = frame.at<void>(out);
    const long wrong = cpu::gather_rows(gather, frame.pool);
    if (wrong < 0) return;
    const bool wide = gather.index_dtype == DType::i64;
    frame.faults[0].report(wide ? static_cast<const std::int64_t*>(gather.indices)[wrong]
                                : static_cast<const std::int32_t*>(gather.indices)[wrong]);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override {
    return error("index {} is outside of [{}, {})", found[0].value,
                 gather_.wrap_negative ? -gather_.table_rows : 0, gather_.table_rows);
  }

  Address table, indices, out;

 private:
  cpu::GatherRows gather_;
};

// Strides of the tensor seen as [outer, middle, row] with contiguous rows, or nullopt.
std::optional<Index> as_three(const Strided& t, const Index& sizes) {
  Index strides;
  if (!t.can_view_as(sizes, &strides) || (sizes[2] > 1 && strides[2] != 1)) return std::nullopt;
  return strides;
}

}  // namespace

bool make_gather(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto op = slices_by_index(node);
  const Value* index = op ? node.input(1) : nullptr;
  if (!op || (index->dtype() != DType::i64 && index->dtype() != DType::i32)) return false;
  const Index sizes = eval(node.input(0)->shape(), {});
  const std::size_t axis = op->axis;
  const std::int64_t outer = numel(std::span(sizes).first(axis));
  const std::int64_t row = numel(std::span(sizes).subspan(axis + 1));
  const std::int64_t count = numel(index->shape()).value();
  const Index x_view{outer, sizes[axis], row}, out_view{outer, count, row};
  if (outer * count * row == 0) return false;

  PlannedTensor x = planner.places().at(node.input(0));
  if (!as_three(x, x_view)) x = planner.dense(node.input(0));
  const PlannedTensor indices = planner.dense(index);
  const PlannedTensor out =
      planner.places().place(node.output(), row_major(node.output()->rank()),
                             [&](const PlannedTensor& t) { return as_three(t, out_view).has_value(); });
  const Index x_strides = *as_three(x, x_view), out_strides = *as_three(out, out_view);
  const auto element = static_cast<std::int64_t>(size_of(x.dtype()));
  cpu::GatherRows gather{
      .outer = outer, .count = count, .table_rows = sizes[axis], .row_bytes = row * element};
  gather.table_outer_stride = x_strides[0] * element;
  gather.table_stride = x_strides[1] * element;
  gather.out_outer_stride = out_strides[0] * element;
  gather.out_stride = out_strides[1] * element;
  gather.index_dtype = index->dtype();
  gather.wrap_negative = op->from_end;
  auto step = std::make_unique<GatherStep>(gather);
  step->table = x.address();
  step->indices = indices.address();
  step->out = out.address();
  planner.emit(std::move(step), node, {x, indices}, {out});
  return true;
}

}  // namespace tenon
