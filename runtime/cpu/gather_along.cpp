// gather: elements along one axis, where a tensor of indices says.
#include "ir/ops/index.h"
#include "kernels/cpu/gather.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class GatherAlongStep : public CpuStep {
 public:
  explicit GatherAlongStep(const cpu::GatherAlong& gather) : gather_(gather) { faults = 1; }

  void compute(const CpuFrame& frame) const override {
    cpu::GatherAlong gather = gather_;
    gather.table = frame.at<const void>(table);
    gather.indices = frame.at<const void>(indices);
    gather.out = frame.at<void>(out);
    const long wrong = cpu::gather_along(gather, frame.pool);
    if (wrong >= 0)
      report_index(frame.faults[0], index_at(gather.indices, gather.index_dtype, offset_of(wrong)),
                   gather.table_extent, gather.wrap_negative);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address table, indices, out;

 private:
  /// Of the index at a row-major position, in elements.
  long offset_of(long position) const {
    long offset = 0;
    for (auto d = static_cast<std::size_t>(gather_.rank); d-- > 0; position /= gather_.dims[d])
      offset += position % gather_.dims[d] * gather_.index_strides[d];
    return offset;
  }

  cpu::GatherAlong gather_;
};

cpu::GatherAlong::Dims dims_of(const Index& values) {
  cpu::GatherAlong::Dims dims = {};
  std::copy(values.begin(), values.end(), dims.begin());
  return dims;
}

void emit_gather(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor table = planner.assignment().at(node.input(0));
  const PlannedTensor indices = planner.assignment().at(node.input(1));
  const PlannedTensor out = planner.assignment().assign(node.output(), row_major(node.output()->rank()));
  const auto axis = static_cast<int>(node.as<Gather>()->axis);
  cpu::GatherAlong gather{.rank = static_cast<int>(out.rank()),
                          .dim = axis,
                          .dims = dims_of(out.shape()),
                          .table_extent = table.shape()[static_cast<std::size_t>(axis)],
                          .element_size = size_of(table.dtype()),
                          .table_strides = dims_of(table.strides()),
                          .index_dtype = indices.dtype(),
                          .index_strides = dims_of(indices.strides()),
                          .out_strides = dims_of(out.strides())};
  auto step = std::make_unique<GatherAlongStep>(gather);
  step->table = table.address();
  step->indices = indices.address();
  step->out = out.address();
  planner.emit(std::move(step), node, {table, indices}, {out});
}

std::vector<Candidate> lower_gather_along(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (!node.is<Gather>()) return {};
  const Value& table = *node.input(0);
  const Value& indices = *node.input(1);
  const bool fits = !is_string(table.dtype()) &&
                    (indices.dtype() == DType::i64 || indices.dtype() == DType::i32) && table.rank() > 0 &&
                    table.rank() <= cpu::GatherAlong::max_rank;
  if (!fits) return {};
  const double elements = static_cast<double>(numel(node.output()->shape()).value());
  const Work work{.bytes = 2 * bytes_of(node.output()->type()) + bytes_of(indices.type()),
                  .rows = static_cast<std::int64_t>(elements)};
  constexpr double operations = 100;  // one element after the other takes as long as so many of a product
  const CandidateInfo info{
      .kernel = "gather along", .work = work, .seconds = planner.estimate(operations * elements, work.bytes)};
  return {Candidate{info, emit_gather}};
}

}  // namespace

std::vector<OpLowering> gather_along_lowerings() {
  return {{.op = &op_info<Gather>(), .lower = lower_gather_along, .alone = true}};
}

}  // namespace tenon
