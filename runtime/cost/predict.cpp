#include "runtime/cost/predict.h"

namespace tenon {
namespace {

// Two measurements of one step, a while apart, differ by less in nine of ten cases.
constexpr double measured_spread = 1.1;

}  // namespace

Prediction predict(const Plan& plan, const MachineDescription& machine, int threads, const CostModel& model,
                   const Calibration& calibration) {
  const Rates& rates = machine.of(threads);
  Prediction p;
  for (StepFeatures& step : features_of(plan)) {
    if (const auto ms = calibration.measured_ms(step.key)) {
      p.steps.push_back({*ms, {*ms / measured_spread, *ms * measured_spread}, Basis::measured});
      p.measured += *ms;
    } else {
      put_machine(step.numbers, machine, rates);
      p.steps.push_back(model.step(step.kernel, step.numbers).times(calibration.factor(step.kernel)));
    }
    const Estimate& e = p.steps.back();
    p.ms += e.ms;
    if (e.basis != Basis::roofline) p.covered += e.ms;
  }
  // Errors of steps cancel out in part: the factor is that of whole runs.
  const double factor = model.run_factor(p.ms), rest = p.ms - p.measured;
  p.interval = {p.measured / measured_spread + rest / factor, p.measured * measured_spread + rest * factor};
  if (p.ms > 0) {
    p.measured /= p.ms;
    p.covered /= p.ms;
  }
  return p;
}

}  // namespace tenon
