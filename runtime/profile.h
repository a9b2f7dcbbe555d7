// Repeated runs of a session, timed: whole runs, steps, and two sessions in turns.
#pragma once
#include <array>

#include "base/statistics.h"
#include "runtime/session.h"

namespace tenon {

struct ProfileOptions {
  int warmup = 3;
  int iterations = 20;
  double seconds = 0;  // above 0: as many iterations as fit, instead of `iterations`
  /// Above 0: runs during which something else took the machine's time are left out (runtime/pulse.h), and
  /// runs go on for up to so many seconds until there are `iterations` others. Of CPUs.
  double undisturbed = 0;
};

/// Times of runs of one plan, a sample each.
struct RunSamples {
  std::vector<double> total_ms;
  std::vector<std::vector<double>> step_ms;  // [step][sample]
};

/// Runs of ProfileOptions::undisturbed. Where none was calm, the two that were nearest to it are kept.
struct Calm {
  std::size_t runs = 0, left_out = 0;
};

struct Profile {
  std::shared_ptr<const Plan> plan;
  double plan_ms = 0, pack_ms = 0;  // choosing kernels and laying out memory; packing weights
  double first_run_ms = 0;          // with the arena's first touch
  std::vector<double> latency_ms;   // of each run, in order, without timers around steps
  std::vector<RunTimes> runs;       // as many with them, between those; at most max_step_runs
  double overhead = 0;              // what the timers added, as a share: the median over pairs of runs
  Interval overhead_ci95;
  std::optional<Calm> calm;  // where undisturbed runs were wanted

  static constexpr std::size_t max_step_runs = 1000;
};

/// Plans (if the session has no plan yet), warms up, then runs with and without timers by turns.
Profile profile(Session&, std::span<const Tensor> inputs, const ProfileOptions& = {});

/// The times of each step in each run.
RunSamples samples_of(std::span<const RunTimes> runs);

/// One side of a comparison.
struct Contender {
  Session& session;
  std::span<const Tensor> inputs;
};

struct InterleaveOptions {
  int warmup = 3;
  int blocks = 20;
  double turn_ms = 10;  // a turn repeats short models until it lasts so long
};

/// Runs both by turns, in blocks ABBA and BAAB, so that a disturbance or a drift of the machine meets both
/// alike. A sample is a block: the mean of the side's two turns; a turn is the median of its runs. Sample i
/// of one side belongs to sample i of the other. Both are timed step by step.
std::array<RunSamples, 2> interleave(const Contender& a, const Contender& b, const InterleaveOptions& = {});

}  // namespace tenon
