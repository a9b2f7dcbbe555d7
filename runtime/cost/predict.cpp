#include "runtime/cost/predict.h"

namespace tenon {
namespace {

// Two measurements of one step, a while apart, differ by less in nine of ten cases.
constexpr double measured_spread = 1.1;

// Intervals of the model hold errors on the machine that it was trained on. Of another one, of which nothing
// was measured, nine of ten runs were within 1.3 times these (docs/prediction.md, Another machine).
constexpr double elsewhere = 1.3;

Interval around(double ms, double factor) { return {ms / factor, ms * factor}; }

double widening(const Rates& rates, const CostModel& model, const Calibration& calibration) {
  return is_calibrated(rates, model) || !calibration.is_empty() ? 1 : elsewhere;
}

}  // namespace

Estimate expected(const StepFeatures& step, const MachineDescription& machine, const Rates& rates,
                  const CostModel& model, const Calibration& calibration) {
  Features numbers = step.numbers;
  put_machine(numbers, machine, rates);
  Estimate e = model.step(step.kernel, numbers)
                   .times(factors_of(rates, model).of(step.kernel) * calibration.factors().of(step.kernel));
  const double wider = widening(rates, model, calibration);
  e.interval = {e.interval.low / wider, e.interval.high * wider};
  return e;
}

Prediction predict(const Plan& plan, const MachineDescription& machine, int threads, const CostModel& model,
                   const Calibration& calibration) {
  const Rates& rates = machine.of(threads);
  const double wider = widening(rates, model, calibration);
  Prediction p{.calibrated = wider == 1};
  for (const StepFeatures& step : features_of(plan)) {
    if (const auto ms = calibration.measured_ms(step.key)) {
      p.steps.push_back({*ms, around(*ms, measured_spread), Basis::measured});
      p.measured += *ms;
    } else {
      p.steps.push_back(expected(step, machine, rates, model, calibration));
    }
    const Estimate& e = p.steps.back();
    p.ms += e.ms;
    if (e.basis != Basis::roofline) p.covered += e.ms;
  }
  // Errors of steps cancel out in part: the factor is that of whole runs.
  const Interval measured = around(p.measured, measured_spread),
                 rest = around(p.ms - p.measured, model.run_factor(p.ms) * wider);
  p.interval = {measured.low + rest.low, measured.high + rest.high};
  if (p.ms > 0) {
    p.measured /= p.ms;
    p.covered /= p.ms;
  }
  return p;
}

}  // namespace tenon
