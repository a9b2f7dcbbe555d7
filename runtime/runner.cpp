#include "runtime/runner.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "ir/bind.h"
#include "ir/clone.h"
#include "ir/data_size.h"
#include "ir/string_tensor.h"
#include "runtime/planner.h"
#include "runtime/stages.h"

namespace tenon {
namespace {

bool matches(const Plan& plan, std::span<const Tensor> inputs) {
  const auto same = [](const Type& type, const Tensor& t) {
    return t.defined() && type.dtype == t.dtype() &&
           std::equal(type.shape.begin(), type.shape.end(), t.shape().begin(), t.shape().end(),
                      [](const Dim& d, std::int64_t size) { return d.value() == size; });
  };
  return std::equal(plan.inputs.begin(), plan.inputs.end(), inputs.begin(), inputs.end(), same);
}

bool is_dense_on_device(const Tensor& t, const Device& device) {
  return t.is_contiguous() && device.shares_memory == (t.storage()->space != Space::device);
}

void check_on_host(std::span<const Tensor> tensors, std::string_view what) {
  for (const Tensor& t : tensors)
    if (t.defined() && t.storage()->space == Space::device)
      throw error("an {} lies in the memory of a device, where the host does not see it", what)
          .hint("use run_bound, or download");
}

void check_outputs(const Plan& plan, std::span<const Tensor> outputs) {
  if (outputs.size() != plan.outputs.size())
    throw error("the graph has {} outputs, memory for {} was given", plan.outputs.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = plan.outputs[i];
    if (plan.takes_values() && !outputs[i].defined()) continue;
    const bool fits =
        outputs[i].defined() && outputs[i].dtype() == type.dtype &&
        std::equal(type.shape.begin(), type.shape.end(), outputs[i].shape().begin(), outputs[i].shape().end(),
                   [](const Dim& d, std::int64_t size) { return !d.is_known() || d.value() == size; });
    if (fits && !outputs[i].storage()->writable)
      throw error("output {} needs memory that may be written to", output_name(*plan.graph, i));
    if (!fits || !outputs[i].is_contiguous())
      throw error("output {} needs a dense {}, not {}", output_name(*plan.graph, i), type.str(),
                  outputs[i].defined() ? outputs[i].type_string() : "nothing");
  }
}

// The results that a run of a plan with values has made.
void deliver(const Plan& plan, std::span<const Tensor> values, std::span<Tensor> outputs) {
  for (std::size_t i = 0; i < plan.results.size(); ++i) {
    const Tensor& result = plan.results[i].of(values);
    if (!outputs[i].defined()) {
      const bool is_shared = result.storage().use_count() > 1;  // with an input, a constant or another result
      outputs[i] = is_shared ? result.clone() : result;
    } else if (outputs[i].shape() == result.shape()) {
      outputs[i].copy_from(result);
    } else {
      throw error("output {} is {} for these inputs, memory for {} was given", output_name(*plan.graph, i),
                  result.type_string(), outputs[i].type_string());
    }
  }
}

void run_timed(const Plan& plan, const Frame& frame, StepClock& clock) {
  clock.mark();
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    plan.run({i, i + 1}, frame);
    clock.mark();
  }
}

constexpr auto nothing = [] {};

}  // namespace

/// A workspace taken from the idle ones, and given back at the end.
class Runner::WorkspaceLease {
 public:
  explicit WorkspaceLease(Runner& runner) : runner_(runner) {
    const std::lock_guard lock(runner_.mutex_);
    if (runner_.idle_.empty()) return;
    workspace_ = std::move(runner_.idle_.back());
    runner_.idle_.pop_back();
  }
  ~WorkspaceLease() {
    const std::lock_guard lock(runner_.mutex_);
    runner_.idle_.push_back(std::move(workspace_));
  }
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;

  Workspace& workspace() {
    if (!workspace_) workspace_ = std::make_unique<Workspace>(runner_.device_.device);
    return *workspace_;
  }

 private:
  Runner& runner_;
  std::unique_ptr<Workspace> workspace_;
};

Runner::Runner(std::shared_ptr<const Graph> graph, OpenDevice& device, std::size_t max_plans, bool runs_once)
    : graph_(std::move(graph)),
      device_(device),
      max_plans_(max_plans),
      runs_once_(runs_once),
      has_strings_(has_strings(graph_->body())) {}

Runner::Runner(const Runner& other, OpenDevice& device)
    : Runner(other.graph_, device, other.max_plans_, other.runs_once_) {}

Runner::~Runner() = default;

std::shared_ptr<const Plan> Runner::find_plan(std::span<const Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return matches(*plan, inputs); });
  if (found == plans_.end()) return nullptr;
  std::rotate(plans_.begin(), found, found + 1);
  return plans_.front();
}

std::shared_ptr<const Plan> Runner::last_plan() {
  const std::lock_guard lock(mutex_);
  return plans_.empty() ? nullptr : plans_.front();
}

std::shared_ptr<const Plan> Runner::plan_for(std::span<const Tensor> inputs) {
  if (auto plan = find_plan(inputs)) return plan;
  const std::lock_guard planning(planning_);
  if (auto plan = find_plan(inputs)) return plan;
  const Bindings bindings = bind_inputs(*graph_, inputs);
  std::shared_ptr<const Plan> plan = make_plan(bindings);
  const std::lock_guard lock(mutex_);
  if (!plans_.empty() && plans_.size() >= max_plans_) plans_.pop_back();
  plans_.insert(plans_.begin(), plan);
  return plan;
}

std::unique_ptr<const Plan> Runner::make_plan(const Bindings& bindings) {
  auto graph = specialize(*graph_, bindings);
  if (gives_sizes(graph->body())) return plan_stages(std::move(graph), device_);
  return Planner(std::move(graph), device_, {.runs_once = runs_once_, .is_recorded = true}).plan();
}

// Faults are older than what was thrown behind them.
void Runner::run_steps(const PlanPtr& plan, Workspace& workspace, RunTimes* times, FunctionRef<void()> then) {
  Queue& queue = *device_.queue;
  const Frame frame = workspace.frame(*plan, queue);
  const auto clock = times ? queue.clock(plan->steps.size() + 1) : nullptr;
  try {
    if (clock)
      run_timed(*plan, frame, *clock);
    else
      workspace.command_lists.run(plan, frame);
    then();
    queue.wait();
  } catch (const Error&) {
    queue.wait();
    if (auto fault = plan->failure(frame.faults)) throw std::move(*fault);
    throw;
  }
  if (auto fault = plan->failure(frame.faults)) throw std::move(*fault);
  if (!clock) return;
  const auto marks = clock->times();
  times->threads = clock->threads();
  times->steps.clear();
  for (std::size_t i = 0; i + 1 < marks.size(); ++i) times->steps.push_back({marks[i], marks[i + 1]});
}

void Runner::execute(const PlanPtr& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                     RunTimes* times) {
  check_outputs(*plan, outputs);
  std::optional<TextUse> use;
  if (has_strings_) use.emplace();
  WorkspaceLease lease(*this);
  Workspace& workspace = lease.workspace();
  const Queue::Run run(*device_.queue);
  if (plan->takes_values()) {
    workspace.bind_values(*plan, inputs);
    run_steps(plan, workspace, times, nothing);
    deliver(*plan, workspace.values, outputs);
    workspace.values.clear();
  } else if (device_.device.shares_memory) {
    workspace.bind(
        *plan, [&](std::size_t i) { return inputs[i].address(); },
        [&](std::size_t i) { return outputs[i].mutable_bytes(); });
    run_steps(plan, workspace, times, nothing);
  } else {
    workspace.bind_staged(*plan);
    workspace.copy_inputs(*plan, inputs, *device_.queue);
    run_steps(plan, workspace, times, [&] { workspace.copy_outputs(*plan, outputs, *device_.queue); });
  }
}

void Runner::run_bound(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  const auto plan = plan_for(inputs);
  check_outputs(*plan, outputs);
  if (plan->takes_values())
    throw unsupported("the graph '{}' gives sizes while it runs: its results cannot be bound", graph_->name);
  const auto check = [&](const Tensor& t, const std::string& what) {
    if (!is_dense_on_device(t, device_.device))
      throw error("{} is not dense in the memory of the device {}", what, device_.device.name);
    const auto at = reinterpret_cast<std::uintptr_t>(t.address());
    if (!device_.device.shares_memory && at % device_.device.memory.alignment != 0)
      throw error("{} does not begin at a multiple of {} bytes in the memory of the device {}", what,
                  device_.device.memory.alignment, device_.device.name);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check(inputs[i], "input " + graph_->body().parameters()[i]->name());
  for (std::size_t i = 0; i < outputs.size(); ++i) check(outputs[i], "output " + output_name(*graph_, i));
  std::optional<TextUse> use;
  if (has_strings_) use.emplace();
  WorkspaceLease lease(*this);
  const Queue::Run run(*device_.queue);
  lease.workspace().bind(
      *plan, [&](std::size_t i) { return inputs[i].address(); },
      [&](std::size_t i) { return outputs[i].address(); });
  run_steps(plan, lease.workspace(), nullptr, nothing);
}

void Runner::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto plan = plan_for(inputs);
  check_on_host(inputs, "input");
  check_on_host(outputs, "output");
  const bool dense =
      std::all_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.is_contiguous(); });
  if (dense) return execute(plan, inputs, outputs, nullptr);
  std::vector<Tensor> copies;
  for (const Tensor& t : inputs) copies.push_back(t.contiguous());
  execute(plan, copies, outputs, nullptr);
}

void Runner::profile_run(std::span<const Tensor> inputs, std::span<Tensor> outputs, RunTimes& times) {
  check_on_host(inputs, "input");
  check_on_host(outputs, "output");
  std::vector<Tensor> dense;
  for (const Tensor& t : inputs) dense.push_back(t.contiguous());
  execute(plan_for(dense), dense, outputs, &times);
}

std::vector<Tensor> Runner::run(std::span<const Tensor> inputs) {
  const auto plan = plan_for(inputs);
  std::vector<Tensor> outputs;
  for (const Type& type : plan->outputs)
    outputs.push_back(plan->takes_values() ? Tensor()
                                           : device_.empty_result(type.dtype, eval(type.shape, {})));
  run_into(inputs, outputs);
  return outputs;
}

}  // namespace tenon
