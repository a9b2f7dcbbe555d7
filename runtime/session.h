// Runs a graph: makes a plan for each new signature of inputs, keeps it, and runs it.
#pragma once
#include <chrono>
#include <memory>
#include <mutex>

#include "runtime/context.h"
#include "runtime/device.h"
#include "runtime/pack_cache.h"

namespace tenon {

struct SessionOptions {
  int threads = 1;
  const Device* device = &cpu_device();
  std::size_t max_plans = 32;  // of those used last; at least one is kept
};

/// When a step of a plan ran.
struct StepTime {
  std::chrono::steady_clock::time_point begin, end;
  double ms() const { return std::chrono::duration<double, std::milli>(end - begin).count(); }
};

/// A run with timers.
struct RunTimes {
  std::vector<StepTime> steps;    // of the plan
  std::vector<WorkSpan> threads;  // what the pool's threads did in shared loops
  /// From the begin of the first step to the end of the last one.
  double ms() const { return steps.empty() ? 0 : StepTime{steps.front().begin, steps.back().end}.ms(); }
};

/// Safe to use from several threads at once: each run has memory of its own, weights and plans are shared,
/// and one run at a time has the worker threads. Outputs are the same bits for the same inputs and options.
class Session {
 public:
  explicit Session(std::shared_ptr<const Graph> graph, SessionOptions options = {});
  ~Session();

  const Graph& graph() const { return *graph_; }
  /// Checks the inputs and computes the outputs. Throws Error naming the input that does not fit.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  /// Writes into dense tensors of the outputs' types that overlap neither each other nor the inputs. After
  /// the first run of a signature it allocates nothing (dense inputs, no step that says "reference").
  void run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  /// As run_into, with times. Loops of other runs at the same time are among those of the threads.
  void profile_run(std::span<const Tensor> inputs, std::span<Tensor> outputs, RunTimes& times);

  /// The plan for inputs of these types (made if there is none).
  std::shared_ptr<const Plan> plan_for(std::span<const Tensor> inputs);
  std::size_t packed_bytes() const { return packs_.bytes(); }
  /// Time spent packing weights so far.
  double packing_ms() const { return packs_.packing_ms(); }
  int threads() const { return pool_.threads(); }

 private:
  class Lease;
  void execute(const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs, RunTimes* times);
  std::shared_ptr<const Plan> find_plan(std::span<const Tensor> inputs);

  std::shared_ptr<const Graph> graph_;
  SessionOptions options_;
  ThreadPool pool_;
  PackCache packs_;
  std::mutex mutex_;     // of plans_ and idle_; never held while planning or running
  std::mutex planning_;  // one plan is made at a time
  std::vector<std::shared_ptr<const Plan>> plans_;  // last used first
  std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace tenon
