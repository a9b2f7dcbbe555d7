// Cumulative sums, products, extremes and logsumexp.
#include "kernels/cpu/scan.h"

#include "ir/ops/reduce.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

using Fold = cpu::Scan::Fold;

class ScanStep : public CpuStep {
 public:
  explicit ScanStep(const cpu::Scan& scan) : scan_(scan) {}

  void compute(const CpuFrame& frame) const override {
    cpu::Scan scan = scan_;
    scan.x = frame.at<const void>(x);
    scan.y = frame.at<void>(y);
    if (places) scan.places = frame.at<std::int64_t>(*places);
    cpu::scan(scan, frame.pool);
  }

  Address x, y;
  std::optional<Address> places;

 private:
  cpu::Scan scan_;
};

struct Running {
  Fold fold;
  std::int64_t axis;
};

std::optional<Running> running(const Node& node) {
  if (const auto* op = node.as<CumSum>()) return Running{Fold::sum, op->axis};
  if (const auto* op = node.as<CumProd>()) return Running{Fold::prod, op->axis};
  if (const auto* op = node.as<CumMax>()) return Running{Fold::max, op->axis};
  if (const auto* op = node.as<CumMin>()) return Running{Fold::min, op->axis};
  if (const auto* op = node.as<LogCumSumExp>()) return Running{Fold::log_sum_exp, op->axis};
  return std::nullopt;
}

cpu::Scan scan_of(const Node& node, const Running& run) {
  const auto axis = static_cast<std::size_t>(run.axis);
  const Index sizes = eval(node.input()->shape(), {});
  return {.fold = run.fold,
          .dtype = node.output()->dtype(),
          .outer = numel(std::span(sizes).first(axis)),
          .length = sizes[axis],
          .inner = numel(std::span(sizes).subspan(axis + 1))};
}

void emit_scan(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input());
  std::vector<PlannedTensor> results;
  for (std::size_t i = 0; i < node.num_outputs(); ++i)
    results.push_back(planner.assignment().assign(node.output(i), row_major(x.rank()),
                                                  [](const PlannedTensor& t) { return t.is_contiguous(); }));
  auto step = std::make_unique<ScanStep>(scan_of(node, *running(node)));
  step->x = x.address();
  step->y = results[0].address();
  if (results.size() > 1) step->places = results[1].address();
  planner.emit(std::move(step), node, {x}, results);
}
std::vector<Candidate> lower_scan(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto run = running(node);
  const DType dtype = node.output()->dtype();
  if (!run || !cpu::can_scan(dtype) || node.input()->dtype() != dtype || node.input()->rank() == 0) return {};
  const double elements = static_cast<double>(numel(node.output()->shape()).value());
  Work work{.flops = elements, .bytes = bytes_of(node.input()->type())};
  for (std::size_t i = 0; i < node.num_outputs(); ++i) work.bytes += bytes_of(node.output(i)->type());
  constexpr double operations = 100;  // of a product, in the time that one element takes
  const double copies =
      planner.estimate_copy(node.input(), [](const Strided& t) { return t.is_contiguous(); });
  return {{{.kernel = "scan",
            .work = work,
            .seconds = copies + planner.estimate(operations * elements, work.bytes)},
           emit_scan}};
}

}  // namespace

std::vector<OpLowering> scan_lowerings() {
  std::vector<OpLowering> list;
  for (const OpInfo* op : {&op_info<CumSum>(), &op_info<CumProd>(), &op_info<CumMax>(), &op_info<CumMin>(),
                           &op_info<LogCumSumExp>()})
    list.push_back({.op = op, .lower = lower_scan, .alone = true, .widens = true});
  return list;
}

}  // namespace tenon
