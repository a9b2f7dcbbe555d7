// Repeated runs of a session, timed.
#pragma once
#include "runtime/session.h"

namespace tenon {

struct ProfileOptions {
  int warmup = 3;
  int iterations = 20;
};

struct StepProfile {
  const StepInfo* info = nullptr;
  double ms = 0;  // median over the iterations
};

struct Profile {
  std::shared_ptr<const Plan> plan;
  double plan_ms = 0;              // the first run's planning and packing
  std::vector<double> latency_ms;  // of each iteration, sorted; without timing of steps
  std::vector<StepProfile> steps;  // from as many runs more, with it

  /// The latency that a share of the runs stays below: percentile(0.5) is the median.
  double percentile(double share) const;
  double mean() const;
};

Profile profile(Session&, std::span<const Tensor> inputs, const ProfileOptions& = {});

}  // namespace tenon
