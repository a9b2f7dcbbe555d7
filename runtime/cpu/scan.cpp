// Cumulative sums and products.
#include "kernels/cpu/scan.h"

#include "ir/ops/reduce.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class ScanStep : public CpuStep {
 public:
  explicit ScanStep(const cpu::Scan& scan) : scan_(scan) {}

  void compute(const CpuFrame& frame) const override {
    cpu::Scan scan = scan_;
    scan.x = frame.at<const void>(x);
    scan.y = frame.at<void>(y);
    cpu::scan(scan, frame.pool);
  }

  Address x, y;

 private:
  cpu::Scan scan_;
};

cpu::Scan scan_of(const Node& node) {
  const auto* product = node.as<CumProd>();
  const auto axis = static_cast<std::size_t>(product ? product->axis : node.as<CumSum>()->axis);
  const Index sizes = eval(node.input()->shape(), {});
  return {.multiplies = product != nullptr,
          .dtype = node.output()->dtype(),
          .outer = numel(std::span(sizes).first(axis)),
          .length = sizes[axis],
          .inner = numel(std::span(sizes).subspan(axis + 1))};
}

void emit_scan(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor x = planner.dense(node.input());
  const PlannedTensor y = planner.assignment().assign(
      node.output(), row_major(x.rank()), [](const PlannedTensor& t) { return t.is_contiguous(); });
  auto step = std::make_unique<ScanStep>(scan_of(node));
  step->x = x.address();
  step->y = y.address();
  planner.emit(std::move(step), node, {x}, {y});
}

std::vector<Candidate> lower_scan(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const DType dtype = node.output()->dtype();
  const bool has_type =
      dtype == DType::f32 || dtype == DType::f64 || dtype == DType::i32 || dtype == DType::i64;
  if (!has_type || node.input()->dtype() != dtype || node.input()->rank() == 0) return {};
  const double elements = static_cast<double>(numel(node.output()->shape()).value());
  const Work work{.flops = elements, .bytes = 2 * bytes_of(node.output()->type())};
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
  return {{.op = &op_info<CumSum>(), .lower = lower_scan, .alone = true, .widens = true},
          {.op = &op_info<CumProd>(), .lower = lower_scan, .alone = true, .widens = true}};
}

}  // namespace tenon
