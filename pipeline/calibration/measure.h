// Measures what a machine makes of networks that models are like.
#pragma once
#include <functional>

#include "pipeline/calibration/nets.h"
#include "runtime/cost/calibration.h"
#include "runtime/device.h"

namespace tenon {

struct MeasuredNet {
  std::vector<StepRecord> steps;  // medians of its calm runs; where there are none, the least times
  int calm_runs = 0;              // while nothing else took the machine's time (runtime/pulse.h)
};

/// Runs each network until some of its runs were calm, or the time is over; each runs at least once. The runs
/// of a network are spread over the time, since what disturbs them lasts for seconds. `progress` hears of
/// each network.
std::vector<MeasuredNet> measure_nets(std::span<const CalibrationNet>, const Device&,
                                      const MachineDescription&, int threads, double seconds,
                                      const std::function<void(std::string_view)>& progress);

/// The mean error of whole networks, as a share of their times: by the model alone, and with factors that the
/// other networks say.
struct CalibrationErrors {
  double before = 0, after = 0;
};
CalibrationErrors errors_of(std::span<const MeasuredNet>, const CostModel&);

}  // namespace tenon
