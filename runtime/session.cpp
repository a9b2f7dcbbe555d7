#include "runtime/session.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "ir/bind.h"
#include "ir/clone.h"
#include "runtime/planner.h"

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

void check_outputs(const Plan& plan, std::span<const Tensor> outputs) {
  if (outputs.size() != plan.outputs.size())
    throw error("the graph has {} outputs, memory for {} was given", plan.outputs.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Type& type = plan.outputs[i];
    const bool fits =
        outputs[i].defined() && outputs[i].dtype() == type.dtype &&
        std::equal(type.shape.begin(), type.shape.end(), outputs[i].shape().begin(), outputs[i].shape().end(),
                   [](const Dim& d, std::int64_t size) { return d.value() == size; });
    if (!fits || !outputs[i].is_contiguous())
      throw error("output {} needs a dense {}, not {}", output_name(*plan.graph, i), type.str(),
                  outputs[i].defined() ? outputs[i].type_string() : "nothing");
  }
}

}  // namespace

/// A context taken from the idle ones, and given back at the end.
class Session::Lease {
 public:
  explicit Lease(Session& session) : session_(session) {
    const std::lock_guard lock(session_.mutex_);
    if (session_.idle_.empty()) return;
    context_ = std::move(session_.idle_.back());
    session_.idle_.pop_back();
  }
  ~Lease() {
    const std::lock_guard lock(session_.mutex_);
    session_.idle_.push_back(std::move(context_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Context& context() {
    if (!context_) context_ = std::make_unique<Context>();
    return *context_;
  }

 private:
  Session& session_;
  std::unique_ptr<Context> context_;
};

Session::Session(std::shared_ptr<const Graph> graph, SessionOptions options)
    : graph_(std::move(graph)), options_(options), pool_(options.threads) {}

Session::~Session() = default;

std::shared_ptr<const Plan> Session::find_plan(std::span<const Tensor> inputs) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return matches(*plan, inputs); });
  if (found == plans_.end()) return nullptr;
  std::rotate(plans_.begin(), found, found + 1);
  return plans_.front();
}

std::shared_ptr<const Plan> Session::plan_for(std::span<const Tensor> inputs) {
  if (auto plan = find_plan(inputs)) return plan;
  const std::lock_guard planning(planning_);
  if (auto plan = find_plan(inputs)) return plan;
  const Bindings bindings = bind_inputs(*graph_, inputs);
  std::shared_ptr<const Plan> plan =
      Planner(specialize(*graph_, bindings), *options_.device, pool_, packs_).plan();
  const std::lock_guard lock(mutex_);
  if (!plans_.empty() && plans_.size() >= options_.max_plans) plans_.pop_back();
  plans_.insert(plans_.begin(), plan);
  return plan;
}

void Session::execute(const Plan& plan, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                      RunTimes* times) {
  using Clock = std::chrono::steady_clock;
  check_outputs(plan, outputs);
  Lease lease(*this);
  Context& context = lease.context();
  context.fit(plan);
  context.bind(plan, inputs, outputs);
  const Frame frame = context.frame(plan, pool_);
  const ThreadPool::Session spinning(pool_);
  if (!times) {
    for (const auto& step : plan.steps) step->run(frame);
    return;
  }
  times->steps.clear();
  times->steps.reserve(plan.steps.size());
  pool_.record(true);
  auto begin = Clock::now();
  for (const auto& step : plan.steps) {
    step->run(frame);
    const auto end = Clock::now();
    times->steps.push_back({begin, end});
    begin = end;
  }
  pool_.record(false);
  times->threads = pool_.take_record();
}

void Session::run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const auto plan = plan_for(inputs);
  const bool dense =
      std::all_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t.is_contiguous(); });
  if (dense) return execute(*plan, inputs, outputs, nullptr);
  std::vector<Tensor> copies;
  for (const Tensor& t : inputs) copies.push_back(t.contiguous());
  execute(*plan, copies, outputs, nullptr);
}

void Session::profile_run(std::span<const Tensor> inputs, std::span<Tensor> outputs, RunTimes& times) {
  std::vector<Tensor> dense;
  for (const Tensor& t : inputs) dense.push_back(t.contiguous());
  execute(*plan_for(dense), dense, outputs, &times);
}

std::vector<Tensor> Session::run(std::span<const Tensor> inputs) {
  const auto plan = plan_for(inputs);
  std::vector<Tensor> outputs;
  for (const Type& type : plan->outputs) outputs.push_back(Tensor::empty(type.dtype, eval(type.shape, {})));
  run_into(inputs, outputs);
  return outputs;
}

}  // namespace tenon
