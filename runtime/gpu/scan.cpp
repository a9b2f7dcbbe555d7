// Cumulative sums, products, extremes and logsumexp on a GPU.
#include "ir/ops/reduce.h"
#include "kernels/gpu/scan_source.h"
#include "runtime/gpu/launch.h"

namespace tenon::gpu {
namespace {

struct Running {
  Scan scan;
  std::int64_t axis;
};

std::optional<Running> running(const Node& node) {
  if (const auto* op = node.as<CumSum>()) return Running{Scan::sum, op->axis};
  if (const auto* op = node.as<CumProd>()) return Running{Scan::prod, op->axis};
  if (const auto* op = node.as<CumMax>()) return Running{Scan::max, op->axis};
  if (const auto* op = node.as<CumMin>()) return Running{Scan::min, op->axis};
  if (const auto* op = node.as<LogCumSumExp>()) return Running{Scan::log_sum_exp, op->axis};
  return std::nullopt;
}

ScanForm form_of(const Node& node, const Running& r) {
  const Index sizes = eval(node.input()->shape(), {});
  const auto axis = static_cast<std::size_t>(r.axis);
  return {.scan = r.scan,
          .x = node.input()->dtype(),
          .y = node.output()->dtype(),
          .outer = numel(std::span(sizes).first(axis)),
          .length = sizes[axis],
          .inner = numel(std::span(sizes).subspan(axis + 1))};
}

void emit_scan(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const ScanForm form = form_of(node, *running(node));
  const Index shape{form.outer, form.length, form.inner};
  const PlannedTensor x = viewed(planner, node.input(), shape);
  std::vector<PlannedTensor> writes;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    writes.push_back(planner.assignment()
                         .assign(node.output(i), row_major(node.output(i)->rank()),
                                 [](const PlannedTensor& t) { return t.is_contiguous(); })
                         .view_as(shape));
  std::vector<std::int64_t> fields;
  for (const std::int64_t f : form.fields()) fields.push_back(f);
  for (const PlannedTensor& t : {x, writes[0]})
    fields.insert(fields.end(), t.strides().begin(), t.strides().end());
  const std::string source = scan_source(form);
  const LaunchSize size = blocks_of(form.grid(gpu_queue(planner.queue()).gpu().warp()), scan_threads);
  std::vector<PlannedTensor> reads{x};
  PlannedTensor folds = writes[0];
  if (form.parts() > 1) {
    folds = planner.bytes(static_cast<std::size_t>(form.scratch_bytes()));
    reads.push_back(folds);
    prepare(planner,
            {"fold parts", {source, "fold_parts", size, {x, folds}, {struct_of(fields)}}, {x}, {folds}});
  }
  std::vector<PlannedTensor> buffers{x, folds};
  buffers.insert(buffers.end(), writes.begin(), writes.end());
  emit(planner, node, {{}, {source, "scan", size, buffers, {struct_of(fields)}}, reads, writes});
}

std::vector<Candidate> lower_scan(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto r = running(node);
  const auto has_type = [](DType t) { return is_float(t) || is_integral(t) || is_bool(t); };
  if (!r || node.input()->rank() == 0 || !has_type(node.input()->dtype())) return {};
  const ScanForm form = form_of(node, *r);
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;
  if (form.outer * form.inner * form.parts() > most_blocks) return {};
  const double elements = static_cast<double>(form.outer * form.length * form.inner);
  const Work work{.flops = elements,
                  .bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type()),
                  .rows = form.outer * form.inner,
                  .columns = form.length};
  return {{{.kernel = form.by_rows() ? "scan rows" : "scan columns",
            .work = work,
            .seconds = planner.estimate(work.flops, work.bytes)},
           emit_scan}};
}

}  // namespace
}  // namespace tenon::gpu

namespace tenon {

std::vector<OpLowering> gpu_scan_lowerings() {
  std::vector<OpLowering> list;
  for (const OpInfo* op : {&op_info<CumSum>(), &op_info<CumProd>(), &op_info<CumMax>(), &op_info<CumMin>(),
                           &op_info<LogCumSumExp>()})
    list.push_back({.op = op, .lower = gpu::lower_scan, .alone = true});
  return list;
}

}  // namespace tenon
