// Runs a graph on a device that others use too: plans of its signatures, memory of runs.
#pragma once
#include <memory>
#include <mutex>

#include "runtime/open_device.h"
#include "runtime/workspace.h"

namespace tenon {

/// When a step of a plan ran.
struct StepTime {
  StepClock::TimePoint begin, end;
  double ms() const { return std::chrono::duration<double, std::milli>(end - begin).count(); }
};

/// A run with timers.
struct RunTimes {
  std::vector<StepTime> steps;    // of the plan
  std::vector<WorkSpan> threads;  // what the queue's threads did in shared loops
  /// From the begin of the first step to the end of the last one.
  double ms() const { return steps.empty() ? 0 : StepTime{steps.front().begin, steps.back().end}.ms(); }
};

/// What Session says of runs and plans holds here.
class Runner {
 public:
  /// The device must outlive it.
  Runner(std::shared_ptr<const Graph> graph, OpenDevice& device, std::size_t max_plans,
         bool runs_once = false);
  /// Runs what the other one runs.
  Runner(const Runner& other, OpenDevice& device);
  ~Runner();

  const Graph& graph() const { return *graph_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  void run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  void run_bound(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  void profile_run(std::span<const Tensor> inputs, std::span<Tensor> outputs, RunTimes& times);
  std::shared_ptr<const Plan> plan_for(std::span<const Tensor> inputs);
  /// The plan used last; null before the first one.
  std::shared_ptr<const Plan> last_plan();

 private:
  class WorkspaceLease;
  using PlanPtr = std::shared_ptr<const Plan>;
  void execute(const PlanPtr& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs,
               RunTimes* times);
  void run_steps(const PlanPtr& plan, Workspace& workspace, RunTimes* times, FunctionRef<void()> then);
  std::shared_ptr<const Plan> find_plan(std::span<const Tensor> inputs);
  std::unique_ptr<const Plan> make_plan(const Bindings& bindings);

  std::shared_ptr<const Graph> graph_;
  OpenDevice& device_;
  std::size_t max_plans_;
  bool runs_once_, has_strings_;
  std::mutex mutex_;     // of plans_ and idle_; never held while planning or running
  std::mutex planning_;  // one plan is made at a time
  std::vector<std::shared_ptr<const Plan>> plans_;  // last used first
  std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace tenon
