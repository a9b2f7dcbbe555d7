// index_select, and index: rows copied from the places that indices name.
#include "kernels/cpu/gather.h"

#include "ir/ops/index.h"
#include "runtime/calls/gather.h"
#include "runtime/cpu/places.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

class GatherStep : public CpuStep {
 public:
  explicit GatherStep(const cpu::GatherRows& gather) : gather_(gather) { faults = 1; }

  void compute(const CpuFrame& frame) const override {
    cpu::GatherRows gather = gather_;
    gather.table = frame.at<const void>(table);
    gather.indices = frame.at<const void>(indices);
    gather.out = frame.at<void>(out);
    const long wrong = cpu::gather_rows(gather, frame.pool);
    if (wrong < 0) return;
    report_index(frame.faults[0], index_at(gather.indices, gather.index_dtype, wrong), gather.table_rows,
                 gather.wrap_negative);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address table, indices, out;

 private:
  cpu::GatherRows gather_;
};

void emit(Planner& planner, const Node& node, const GatherCall& call, const PlannedTensor& table,
          const PlannedTensor& indices) {
  const Value* result = node.output();
  const Index table_shape = call.table_shape(), out_shape = call.out_shape();
  const PlannedTensor out = planner.assignment().assign(
      result, row_major(result->rank()),
      [&](const PlannedTensor& t) { return strides_as(t, out_shape).has_value(); });
  const Index table_strides = *strides_as(table, table_shape), out_strides = *strides_as(out, out_shape);
  const auto element = static_cast<std::int64_t>(size_of(table.dtype()));
  cpu::GatherRows gather{.outer = call.outer,
                         .count = call.count,
                         .table_rows = call.table_rows,
                         .row_bytes = call.row * element};
  gather.table_outer_stride = table_strides[0] * element;
  gather.table_stride = table_strides[1] * element;
  gather.out_outer_stride = out_strides[0] * element;
  gather.out_stride = out_strides[1] * element;
  gather.index_dtype = indices.dtype();
  gather.wrap_negative = call.from_end;
  auto step = std::make_unique<GatherStep>(gather);
  step->table = table.address();
  step->indices = indices.address();
  step->out = out.address();
  planner.emit(std::move(step), node, {table, indices}, {out});
}

void emit_slices(Planner& planner, const Group& group, const GatherCall& call) {
  PlannedTensor table = planner.assignment().at(call.table);
  if (!strides_as(table, call.table_shape())) table = planner.dense(call.table);
  emit(planner, group.node(), call, table, planner.dense(call.indices));
}

std::vector<Candidate> lower_gather(const Planner& planner, const Group& group) {
  const auto call = GatherCall::match(group);
  if (!call || (call->indices->dtype() != DType::i64 && call->indices->dtype() != DType::i32)) return {};
  const double copies = planner.estimate_copy(call->table, [&](const Strided& t) {
    return strides_as(t, call->table_shape()).has_value();
  }) + planner.estimate_copy(call->indices, [](const Strided& t) { return t.is_contiguous(); });
  const Work work = call->work();
  const CandidateInfo info{
      .kernel = "gather", .work = work, .seconds = copies + planner.estimate(0, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit_slices(p, g, *call); }}};
}

/// Slices of x, which indices name, read where x lies.
class SlicesStep : public CpuStep {
 public:
  explicit SlicesStep(const cpu::GatherSlices& gather) : gather_(gather) {}

  void compute(const CpuFrame& frame) const override {
    cpu::GatherSlices gather = gather_;
    gather.table = frame.at<const void>(table);
    gather.offsets = frame.at<const std::int64_t>(offsets);
    gather.out = frame.at<void>(out);
    cpu::gather_slices(gather, frame.pool);
  }

  Address table, offsets, out;

 private:
  cpu::GatherSlices gather_;
};

/// The dims of a slice; those that lie behind one another in both tensors are one.
cpu::GatherSlices slices_of(const Index& dims, const Index& table, const Index& out) {
  cpu::GatherSlices g;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    const std::size_t last = g.rank - 1;
    const bool merges =
        g.rank > 0 && g.table_strides[last] == table[d] * dims[d] && g.out_strides[last] == out[d] * dims[d];
    const std::size_t at = merges ? last : g.rank++;
    g.dims[at] = merges ? g.dims[at] * dims[d] : dims[d];
    g.table_strides[at] = table[d];
    g.out_strides[at] = out[d];
  }
  return g;
}

void emit_where_it_lies(Planner& planner, const Node& node, const IndexedRows& rows) {
  const PlannedTensor x = planner.assignment().at(rows.x), ordered = x.permute(rows.order);
  const std::size_t front = places_front(rows.axes), count = rows.axes.size();
  const auto is_listed = [&](std::size_t d) { return d >= front && d < front + count; };
  Index dims, table_strides, seen;  // of a slice; `seen`: the result's shape with one axis of places
  for (std::size_t d = 0; d < ordered.rank(); ++d) {
    if (d == front) seen.push_back(rows.count());
    if (is_listed(d)) continue;
    dims.push_back(ordered.shape()[d]);
    seen.push_back(ordered.shape()[d]);
    table_strides.push_back(ordered.strides()[d]);
  }
  const PlannedTensor out =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [&](const PlannedTensor& t) { return t.can_view_as(seen); });
  Index out_strides;
  out.can_view_as(seen, &out_strides);
  const std::int64_t out_stride = out_strides[front];
  out_strides.erase(out_strides.begin() + static_cast<std::ptrdiff_t>(front));
  cpu::GatherSlices gather = slices_of(dims, table_strides, out_strides);
  gather.count = rows.count();
  gather.out_stride = out_stride;
  gather.element_size = size_of(x.dtype());
  const Index steps(ordered.strides().begin() + static_cast<std::ptrdiff_t>(front),
                    ordered.strides().begin() + static_cast<std::ptrdiff_t>(front + count));
  for (std::size_t k = 0; k < count; ++k)
    (steps[k] < 0 ? gather.least : gather.largest) += (ordered.shape()[front + k] - 1) * steps[k];
  const PlannedTensor offsets = offsets_of_rows(planner, rows, steps);
  auto step = std::make_unique<SlicesStep>(gather);
  step->table = x.address();
  step->offsets = offsets.address();
  step->out = out.address();
  planner.emit(std::move(step), node, {x, offsets}, {out});
}

// By an index for each of several axes: of a table that is copied where its rows do not lie so, or as it
// lies.
std::vector<Candidate> lower_index(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto* op = node.as<IndexAt>();
  if (!op || op->axes.size() < 2) return {};
  const auto rows = IndexedRows::match(node.input(0), op->axes, std::span(node.inputs()).subspan(1));
  if (!rows) return {};
  const GatherCall call{.table = rows->x,
                        .outer = rows->outer,
                        .count = rows->count(),
                        .table_rows = rows->rows,
                        .row = rows->row};
  const double copies = planner.estimate_copy(
      rows->x, [&](const Strided& t) { return t.permute(rows->order).is_contiguous(); });
  const Work work{.bytes = 2 * bytes_of(node.output()->type()) + static_cast<double>(8 * call.count)};
  const double places = estimate_numbers_of_rows(planner, *rows);
  std::vector<Candidate> found;
  found.push_back(
      {{.kernel = "gather", .work = work, .seconds = copies + places + planner.estimate(0, work.bytes)},
       [=](Planner& p, const Group& g) {
         const PlannedTensor table = p.dense(rows->x, rows->order).permute(rows->order);
         emit(p, g.node(), call, table, numbers_of_rows(p, *rows));
       }});
  if (copies == 0 || rows->x->rank() - op->axes.size() > cpu::GatherSlices::max_rank) return found;
  constexpr double operations = 100;  // of a dense product, in the time that an element takes, about
  const auto elements = static_cast<double>(numel(node.output()->shape()).value());
  found.push_back({{.kernel = "gather slices",
                    .work = work,
                    .seconds = places + planner.estimate(operations * elements, work.bytes)},
                   [=](Planner& p, const Group& g) { emit_where_it_lies(p, g.node(), *rows); }});
  return found;
}

}  // namespace

std::vector<OpLowering> gather_lowerings() {
  return {{.op = &op_info<IndexSelect>(), .lower = lower_gather, .alone = true},
          {.op = &op_info<IndexAt>(), .lower = lower_gather, .alone = true},
          {.op = &op_info<IndexAt>(), .lower = lower_index, .alone = true}};
}

}  // namespace tenon
