// Runs a graph: makes a plan for each new signature of inputs, keeps it, and runs it.
#pragma once
#include "runtime/devices.h"
#include "runtime/runner.h"

namespace tenon {

struct SessionOptions {
  int threads = 1;
  const Device* device = &default_device();
  std::size_t max_plans = 32;  // of those used last; at least one is kept
  /// For a session that runs once: the first result comes sooner and takes less memory, because the weights
  /// of products are packed while they are used instead of before. Every later run packs them again.
  bool runs_once = false;
  Chooser choose = least_estimate;  // which candidate computes a group
};

/// Safe to use from several threads at once: each run has memory of its own, weights and plans are shared,
/// and one run at a time has the worker threads. Outputs are the same bits for the same inputs and options.
class Session {
 public:
  explicit Session(std::shared_ptr<const Graph> graph, SessionOptions options = {})
      : device_(*options.device, options.threads, std::move(options.choose)),
        runner_(std::move(graph), device_, options.max_plans, options.runs_once) {}

  /// A session that chooses otherwise, and shares the packed weights of another one, which must outlive it.
  Session(Session& other, Chooser choose)
      : device_(other.device_, std::move(choose)), runner_(other.runner_, device_) {}

  const Graph& graph() const { return runner_.graph(); }
  const Device& device() const { return device_.device; }
  /// Checks the inputs and computes the outputs. Throws Error naming the input that does not fit.
  std::vector<Tensor> run(std::span<const Tensor> inputs) { return runner_.run(inputs); }
  /// Writes into dense tensors of the outputs' types that overlap neither each other nor the inputs. After
  /// the first run of a signature it allocates nothing (dense inputs, no step of the kind `reference`, no
  /// sizes that depend on data). Throws Error when an output whose size depends on data does not fit its
  /// tensor.
  void run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
    runner_.run_into(inputs, outputs);
  }
  /// As run_into, where inputs and outputs lie dense in the device's own memory, at multiples of its
  /// alignment where the host does not share it: nothing is copied to it or from it. Throws Error where a
  /// size depends on data.
  void run_bound(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    runner_.run_bound(inputs, outputs);
  }
  /// A dense copy in the device's memory, and one in the host's; the tensor itself where it is there.
  Tensor upload(const Tensor& tensor) { return device_.upload(tensor); }
  Tensor download(const Tensor& tensor) { return device_.download(tensor); }
  /// As run_into, with times. Loops of other runs at the same time are among those of the threads.
  void profile_run(std::span<const Tensor> inputs, std::span<Tensor> outputs, RunTimes& times) {
    runner_.profile_run(inputs, outputs, times);
  }

  /// The plan for inputs of these types (made if there is none). What depends on sizes that the graph gives
  /// while it runs is planned in the run.
  std::shared_ptr<const Plan> plan_for(std::span<const Tensor> inputs) { return runner_.plan_for(inputs); }
  /// That plan; where the graph gives sizes, after a run on the inputs, which plans its stages.
  std::shared_ptr<const Plan> plan_with_stages(std::span<const Tensor> inputs) {
    auto plan = plan_for(inputs);
    if (plan->takes_values()) run(inputs);
    return plan;
  }
  std::size_t packed_bytes() const { return device_.weights.packed_bytes(); }
  /// Time spent packing weights so far.
  double packing_ms() const { return device_.weights.packing_ms(); }
  int threads() const { return device_.queue->threads(); }

 private:
  OpenDevice device_;
  Runner runner_;
};

}  // namespace tenon
