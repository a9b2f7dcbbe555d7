// What a plan will take, step by step and as a whole, without running it.
#pragma once
#include "runtime/cost/calibration.h"
#include "runtime/cost/machine.h"
#include "runtime/cost/model.h"

namespace tenon {

struct Prediction {
  std::vector<Estimate> steps;  // of the plan
  double ms = 0;                // a whole run, on one queue: the sum of the steps
  Interval interval;
  double measured = 0,
         covered = 0;       // shares of the time: of steps measured before; of all but Basis::roofline
  bool calibrated = false;  // something was measured on this device: intervals are those of the model
};

/// Of a step whose key was not measured. The rates are the machine's.
Estimate expected(const StepFeatures&, const MachineDescription&, const Rates&, const CostModel&,
                  const Calibration& = {});

/// Steps that were measured go before the model, which is calibrated for the others: by what the machine says
/// of its kernels, and by what the records say beyond. Where neither is there, intervals are wider. The plan
/// must be of this device, and of so many threads, which the machine's rates name.
Prediction predict(const Plan&, const MachineDescription&, int threads, const CostModel&,
                   const Calibration& = {});

}  // namespace tenon
