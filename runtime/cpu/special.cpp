// Special functions of floats, and greatest common divisors.
#include "kernels/cpu/special.h"

#include "ir/ops/special.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class SpecialStep : public CpuStep {
 public:
  explicit SpecialStep(const cpu::SpecialRun& run) : run_(run) {}

  void compute(const CpuFrame& frame) const override {
    cpu::SpecialRun run = run_;
    run.a = frame.at<const void>(a);
    run.b = frame.at<const void>(b);
    run.out = frame.at<void>(out);
    cpu::run_special(run, frame.pool);
  }

  Address a, b, out;

 private:
  cpu::SpecialRun run_;
};

void emit_special(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto is_dense = [](const PlannedTensor& t) { return t.is_contiguous(); };
  const Index sizes = eval(node.output()->shape(), {});
  const PlannedTensor a = planner.broadcast(node.input(0), sizes),
                      b = node.inputs().size() > 1 ? planner.broadcast(node.input(1), sizes) : a;
  const PlannedTensor out = planner.assignment().assign(node.output(), row_major(sizes.size()), is_dense);
  const auto* special = node.as<Special>();
  auto step = std::make_unique<SpecialStep>(
      cpu::SpecialRun{.function = special ? std::optional(special->function) : std::nullopt,
                      .dtype = out.dtype(),
                      .count = out.numel()});
  step->a = a.address();
  step->b = b.address();
  step->out = out.address();
  planner.emit(std::move(step), node, {a, b}, {out});
}

std::vector<Candidate> lower_special(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  const Type& type = node.output()->type();
  const bool has_type = node.is<Gcd>() || type.dtype == DType::f32 || type.dtype == DType::f64;
  if (!has_type || numel(type.shape) == Dim(0)) return {};
  double copies = 0;
  for (const Value* v : node.inputs()) {
    if (v->dtype() != type.dtype) return {};
    copies += v->shape() == type.shape
                  ? planner.estimate_copy(v, [](const Strided& t) { return t.is_contiguous(); })
                  : planner.estimate(0, bytes_of(v->type()) + bytes_of(type));
  }
  constexpr double operations = 100;  // of a product, in the time that one value takes
  const Work work{.bytes = bytes_of(type) * static_cast<double>(1 + node.inputs().size())};
  const double elements = static_cast<double>(numel(type.shape).value());
  return {{{.kernel = node.is<Gcd>() ? "common divisors" : "special",
            .work = work,
            .seconds = copies + planner.estimate(operations * elements, work.bytes)},
           emit_special}};
}

}  // namespace

std::vector<OpLowering> special_lowerings() {
  return {{.op = &op_info<Special>(), .lower = lower_special, .alone = true, .widens = true},
          {.op = &op_info<Gcd>(), .lower = lower_special, .alone = true}};
}

}  // namespace tenon
