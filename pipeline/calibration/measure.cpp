#include "pipeline/calibration/measure.h"

#include <algorithm>
#include <chrono>

#include "base/statistics.h"
#include "fusion/fuse.h"
#include "runtime/inputs.h"
#include "runtime/pulse.h"
#include "runtime/session.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int enough = 5;        // calm runs of a network
constexpr int runs_at_once = 5;  // of a network, before the others have their turn

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// A graph that is ready to run on made-up inputs.
class Runnable {
 public:
  Runnable(std::shared_ptr<const Graph> graph, const Device& device, int threads)
      : inputs_(input_values(*graph, {}, 0)),
        session_(std::move(graph), {.threads = threads, .device = &device}),
        outputs_(session_.run(inputs_)) {}

  const RunTimes& run() {
    session_.profile_run(inputs_, outputs_, times_);
    return times_;
  }
  std::vector<StepFeatures> features() { return features_of(*session_.plan_for(inputs_)); }

 private:
  std::vector<Tensor> inputs_;
  Session session_;
  std::vector<Tensor> outputs_;
  RunTimes times_;
};

std::shared_ptr<const Graph> fused(std::unique_ptr<Graph> graph) {
  fuse(*graph);
  return graph;
}

/// The runs of a network, each with the slower of the beats around it.
struct Runs {
  std::vector<double> beats;
  std::vector<std::vector<double>> step_ms;

  int calm(const Pulse& pulse) const {
    return static_cast<int>(std::ranges::count_if(beats, [&](double ms) { return pulse.is_calm(ms); }));
  }
  void add(Runnable& runnable, Pulse& pulse) {
    double before = pulse.beat();
    for (int i = 0; i < runs_at_once && calm(pulse) < enough; ++i) {
      runnable.run();  // the pulse left its own data in the caches
      std::vector<double>& steps = step_ms.emplace_back();
      for (const StepTime& step : runnable.run().steps) steps.push_back(step.ms());
      const double after = pulse.beat();
      beats.push_back(std::max(before, after));
      before = after;
    }
  }
  /// The median of calm runs; of others the least.
  double ms(std::size_t step, const Pulse& pulse) const {
    std::vector<double> calm, others;
    for (std::size_t run = 0; run < beats.size(); ++run)
      (pulse.is_calm(beats[run]) ? calm : others).push_back(step_ms[run][step]);
    return calm.empty() ? *std::ranges::min_element(others) : median(calm);
  }
};

std::vector<StepRecord> steps_of(Runnable& runnable, const MachineDescription& machine, int threads) {
  std::vector<StepRecord> steps;
  for (StepFeatures& f : runnable.features()) {
    put_machine(f.numbers, machine, machine.of(threads));
    steps.push_back({std::move(f.key), std::move(f.kernel), f.numbers});
  }
  return steps;
}

}  // namespace

std::vector<MeasuredNet> measure_nets(std::span<const CalibrationNet> nets, const Device& device,
                                      const MachineDescription& machine, int threads, double seconds,
                                      const std::function<void(std::string_view)>& progress) {
  std::vector<MeasuredNet> measured(nets.size());
  std::vector<Runs> runs(nets.size());
  const auto begin = Clock::now();
  Pulse pulse(device, threads);
  bool is_first = true, is_done = false;
  while (!is_done) {
    is_done = true;
    for (std::size_t i = 0; i < nets.size(); ++i) {
      if (runs[i].calm(pulse) >= enough || (!is_first && seconds_since(begin) > seconds)) continue;
      is_done = false;
      progress(nets[i].name);
      Runnable runnable(fused(nets[i].make()), device, threads);
      if (is_first) measured[i].steps = steps_of(runnable, machine, threads);
      runs[i].add(runnable, pulse);
    }
    is_first = false;
  }
  for (std::size_t i = 0; i < nets.size(); ++i) {
    measured[i].calm_runs = runs[i].calm(pulse);
    for (std::size_t s = 0; s < measured[i].steps.size(); ++s) measured[i].steps[s].ms = runs[i].ms(s, pulse);
  }
  return measured;
}

CalibrationErrors errors_of(std::span<const MeasuredNet> nets, const CostModel& model) {
  CalibrationErrors errors;
  for (const MeasuredNet& net : nets) {
    std::vector<StepRecord> others;
    for (const MeasuredNet& other : nets)
      if (&other != &net) others.insert(others.end(), other.steps.begin(), other.steps.end());
    const KernelFactors factors = factors_of(others, model);
    double measured = 0, alone = 0, calibrated = 0;
    for (const StepRecord& s : net.steps) {
      const double ms = model.step(s.kernel, s.features).ms;
      measured += s.ms;
      alone += ms;
      calibrated += ms * factors.of(s.kernel);
    }
    errors.before += std::abs(alone / measured - 1);
    errors.after += std::abs(calibrated / measured - 1);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(1, nets.size()));
  return {errors.before / count, errors.after / count};
}

}  // namespace tenon
