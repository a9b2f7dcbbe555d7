#include "runtime/stages.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/count.h"
#include "base/named_error.h"
#include "ir/clone.h"
#include "ir/data_size.h"
#include "ir/evaluate.h"
#include "ir/ops/control.h"
#include "ir/ops/data_size.h"
#include "runtime/counted_sizes.h"
#include "runtime/refusal.h"
#include "runtime/runner.h"

namespace tenon {
namespace {

constexpr std::size_t plans_of_a_stage = 8;

std::vector<Tensor> tensors(std::span<const Slot> slots, std::span<const Tensor> values) {
  std::vector<Tensor> out;
  for (const Slot& s : slots) out.push_back(s.of(values));
  return out;
}

/// A step that reads and writes the table of values.
class ValueStep : public Step {
 public:
  std::vector<Slot> in;
  std::vector<std::size_t> out;
  std::vector<std::size_t> last_used;  // nothing needs them afterwards

  /// The values that it needs.
  virtual std::vector<std::size_t> reads() const {
    std::vector<std::size_t> slots;
    for (const Slot& s : in)
      if (!s.constant.defined()) slots.push_back(s.number);
    return slots;
  }

  void run(const Frame& frame) const override {
    std::vector<Tensor> results = computed(tensors(in, frame.values), frame.values);
    for (std::size_t i = 0; i < out.size(); ++i) frame.values[out[i]] = results[i].contiguous();
    for (const std::size_t slot : last_used) frame.values[slot] = Tensor();
  }

 private:
  virtual std::vector<Tensor> computed(std::span<const Tensor> inputs,
                                       std::span<const Tensor> values) const = 0;
};

/// Nodes between two points where sizes are given.
class StageStep : public ValueStep {
 public:
  StageStep(std::shared_ptr<const Graph> graph, OpenDevice& device)
      : device_(device), runner_(std::move(graph), device, plans_of_a_stage) {
    info.kind = StepKind::program;
    info.op = "stage";
    info.kernel = counted(runner_.graph().body().nodes().size(), "node");
  }

  std::vector<std::shared_ptr<const Plan>> plans() const override {
    auto plan = runner_.last_plan();
    return plan ? std::vector{std::move(plan)} : std::vector<std::shared_ptr<const Plan>>{};
  }

 private:
  std::vector<Tensor> computed(std::span<const Tensor> inputs, std::span<const Tensor>) const override {
    std::vector<Tensor> outputs;
    for (const Type& type : runner_.plan_for(inputs)->outputs)
      outputs.push_back(device_.empty(type.dtype, eval(type.shape, {})));
    runner_.run_bound(inputs, outputs);
    return outputs;
  }

  OpenDevice& device_;
  mutable Runner runner_;
};

/// A value that a stage made, for the host, or one of the host's for a stage.
class TransferStep : public ValueStep {
 public:
  TransferStep(OpenDevice& device, bool to_host) : device_(device), to_host_(to_host) {
    info.kind = StepKind::copy;
    info.op = info.kernel = to_host ? "copy to host" : "copy to device";
  }

 private:
  std::vector<Tensor> computed(std::span<const Tensor> inputs, std::span<const Tensor>) const override {
    return {to_host_ ? device_.download(inputs[0]) : device_.upload(inputs[0])};
  }

  OpenDevice& device_;
  bool to_host_;
};

/// A node that gives a size, or has a region with such a node.
class GivingStep : public ValueStep {
 public:
  explicit GivingStep(const Node& node) : node_(node) {
    info.op = node.op().name();
    info.kind = StepKind::reference;
    info.kernel = "reference";
    info.source = node.source;
  }

  /// Where a size that the node needs can be seen: an axis of a value.
  struct Seen {
    std::size_t slot, axis;
  };
  std::map<std::string, Seen> sizes;

  std::vector<std::size_t> reads() const override {
    std::vector<std::size_t> slots = ValueStep::reads();
    for (const auto& [symbol, seen] : sizes) slots.push_back(seen.slot);
    return slots;
  }

 private:
  std::vector<Tensor> computed(std::span<const Tensor> inputs,
                               std::span<const Tensor> values) const override {
    Bindings bindings;
    for (const auto& [symbol, seen] : sizes) bindings.emplace(symbol, values[seen.slot].shape()[seen.axis]);
    return evaluated(node_, inputs, bindings);
  }

  virtual std::vector<Tensor> evaluated(const Node& node, std::span<const Tensor> inputs,
                                        const Bindings& bindings) const {
    return evaluate(node, inputs, bindings);
  }

  const Node& node_;
};

/// The same by a kernel of the device.
class SizedStep : public GivingStep {
 public:
  SizedStep(const Node& node, const SizedKernel& kernel, OpenDevice& device)
      : GivingStep(node), kernel_(kernel), device_(device) {
    info.kind = StepKind::kernel;
    info.kernel = node.op().name();
  }

 private:
  std::vector<Tensor> evaluated(const Node& node, std::span<const Tensor> inputs,
                                const Bindings&) const override {
    return kernel_.compute(node, inputs, device_);
  }

  const SizedKernel& kernel_;
  OpenDevice& device_;
};

/// A size that a stage computed: the host reads it. Nothing reads what count_up holds (count_sizes).
class SizeStep : public GivingStep {
 public:
  explicit SizeStep(const Node& node) : GivingStep(node) {
    info.kind = StepKind::copy;
    info.kernel = "size";
  }

 private:
  std::vector<Tensor> evaluated(const Node& node, std::span<const Tensor> inputs,
                                const Bindings&) const override {
    try {
      return {Tensor::empty(DType::i64, {CountUp::size_of(inputs[0])})};
    } catch (const Error& e) { throw named(node.op().name(), e); }
  }
};

/// An if or a loop: its regions are planned anew for every sizes that they have not met yet.
class ControlStep : public GivingStep {
 public:
  ControlStep(const Node& node, OpenDevice& device) : GivingStep(node) {
    info.kind = StepKind::program;
    info.kernel = node.is<If>() ? "branch" : "steps";
    for (const auto& region : node.regions()) {
      auto graph = region_graph(*region);
      std::set<std::string> needed;
      needed_sizes(*region, needed);
      for (const auto& p : region->parameters()) needed_sizes(p->type(), needed);
      for (const std::string& size : needed)
        graph->body().add_parameter({DType::boolean, {Dim::symbol(size)}}, "size " + size);
      needed_.emplace_back(needed.begin(), needed.end());
      runners_.push_back(std::make_unique<Runner>(std::move(graph), device, plans_of_a_stage));
    }
  }

  std::vector<std::shared_ptr<const Plan>> plans() const override {
    std::vector<std::shared_ptr<const Plan>> list;
    for (const auto& runner : runners_)
      if (auto plan = runner->last_plan()) list.push_back(std::move(plan));
    return list;
  }

 private:
  std::vector<Tensor> evaluated(const Node& node, std::span<const Tensor> inputs,
                                const Bindings& bindings) const override {
    std::vector<RegionFunction> regions;
    for (std::size_t k = 0; k < runners_.size(); ++k)
      regions.emplace_back([&, k](std::span<const Tensor> arguments) {
        Bindings known = bindings;
        bind_given(sizes_of_parameters(node), arguments, known);
        std::vector<Tensor> all;
        for (const Tensor& t : arguments) all.push_back(t.contiguous());
        for (const std::string& size : needed_[k])
          all.push_back(Tensor::empty(DType::boolean, {known.at(size)}));
        return runners_[k]->run(all);
      });
    return evaluate(node, inputs, bindings, regions);
  }

  std::vector<std::unique_ptr<Runner>> runners_;
  std::vector<std::vector<std::string>> needed_;  // the sizes that a region's last parameters tell
};

class StagePlanner {
 public:
  StagePlanner(std::unique_ptr<Graph> graph, OpenDevice& device) : graph_(std::move(graph)), device_(device) {
    if (!device_.device.shares_memory) count_sizes(graph_->body());
    if (const Refusal all = refused(graph_->body(), device_.device); !all.empty())
      throw all.error(device_.device);
    for (const auto& p : graph_->body().parameters()) new_slot(p.get(), on_host);
  }

  std::unique_ptr<const Plan> plan() {
    for (const auto& node : graph_->body().nodes()) {
      if (!gives_sizes(*node)) {
        stage_.push_back(node.get());
        continue;
      }
      end_stage();
      add_giving(*node);
    }
    end_stage();
    auto plan = std::make_unique<Plan>();
    for (const Value* result : graph_->body().results()) plan->results.push_back(slot(result, on_host));
    free_early(plan->results);
    for (auto& step : steps_) plan->steps.push_back(std::move(step));
    plan->nodes = std::move(nodes_);
    plan->values = std::max<std::size_t>(count_, 1);
    for (const auto& parameter : graph_->body().parameters()) plan->inputs.push_back(parameter->type());
    for (const Value* result : graph_->body().results()) plan->outputs.push_back(result->type());
    plan->graph = std::move(graph_);
    return plan;
  }

 private:
  enum Side : std::size_t { on_host, on_device };

  // Where the value lies on this side; a step copies it there if need be.
  Slot slot(const Value* v, Side side) {
    if (v->is_constant()) return {.constant = v->tensor()};
    auto& slots = slots_.at(v);
    if (!slots[side]) {
      auto step = std::make_unique<TransferStep>(device_, side == on_host);
      step->in.push_back({.number = *slots[1 - side]});
      step->out.push_back(new_slot(v, side));
      add(std::move(step), v->node());
    }
    return {.number = *slots[side]};
  }

  std::size_t new_slot(const Value* v, Side side) {
    auto& slots = slots_[v];
    slots[side] = count_;
    if (device_.device.shares_memory) slots[1 - side] = count_;
    return count_++;
  }

  // Where its sizes can be seen.
  std::size_t any_slot(const Value* v) const {
    const auto& slots = slots_.at(v);
    return slots[on_host] ? *slots[on_host] : *slots[on_device];
  }

  void end_stage() {
    if (stage_.empty()) return;
    const std::unordered_set<const Node*> inside(stage_.begin(), stage_.end());
    std::vector<const Value*> inputs, outputs;
    std::set<std::string> sizes;
    const auto take = [&](const Value* v) {
      const bool outside = !v->is_constant() && !(v->node() && inside.contains(v->node()));
      if (outside && std::find(inputs.begin(), inputs.end(), v) == inputs.end()) inputs.push_back(v);
    };
    for (const Node* node : stage_) {
      std::for_each(node->inputs().begin(), node->inputs().end(), take);
      needed_sizes(*node, sizes);
      for (std::size_t i = 0; i < node->num_outputs(); ++i) {
        const auto& uses = node->output(i)->uses();
        if (std::any_of(uses.begin(), uses.end(), [&](const Use& u) { return !inside.contains(u.node); }))
          outputs.push_back(node->output(i));
      }
    }
    for (const std::string& size : sizes) take(givers_.at(size).value);
    auto step = std::make_unique<StageStep>(part_graph(*graph_, stage_, inputs, outputs), device_);
    for (const Value* v : inputs) step->in.push_back(slot(v, on_device));
    for (const Value* v : outputs) step->out.push_back(new_slot(v, on_device));
    stage_.clear();
    add(std::move(step), nullptr);
  }

  void add_giving(const Node& node) {
    std::unique_ptr<GivingStep> step;
    if (!node.regions().empty())
      step = std::make_unique<ControlStep>(node, device_);
    else if (node.is<CountUp>() && !device_.device.shares_memory)
      step = std::make_unique<SizeStep>(node);
    else if (const SizedKernel* kernel = device_.device.sized_kernel(node.op()))
      step = std::make_unique<SizedStep>(node, *kernel, device_);
    else
      step = std::make_unique<GivingStep>(node);
    for (const Value* v : node.inputs()) step->in.push_back(slot(v, on_host));
    std::set<std::string> sizes;
    needed_sizes(node, sizes);
    for (const std::string& size : sizes) {
      const auto& [value, axis] = givers_.at(size);
      step->sizes.emplace(size, GivingStep::Seen{any_slot(value), axis});
    }
    for (std::size_t i = 0; i < node.num_outputs(); ++i)
      step->out.push_back(new_slot(node.output(i), on_host));
    for (const GivenSize& s : given_sizes(node))
      givers_.emplace(s.symbol, Giver{node.output(s.value), s.axis});
    add(std::move(step), &node);
  }

  void add(std::unique_ptr<ValueStep> step, const Node* node) {
    steps_.push_back(std::move(step));
    nodes_.push_back(node);
  }

  // Each value is dropped by the last step that touches it.
  void free_early(std::span<const Slot> results) {
    std::unordered_set<std::size_t> needed;
    for (const Slot& s : results)
      if (!s.constant.defined()) needed.insert(s.number);
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
      const auto touch = [&](std::size_t slot) {
        if (needed.insert(slot).second) (*step)->last_used.push_back(slot);
      };
      for (const std::size_t slot : (*step)->reads()) touch(slot);
      for (const std::size_t slot : (*step)->out) touch(slot);
    }
  }

  std::unique_ptr<Graph> graph_;
  OpenDevice& device_;
  std::vector<const Node*> stage_;
  std::unordered_map<const Value*, std::array<std::optional<std::size_t>, 2>> slots_;  // by side
  std::size_t count_ = 0;
  struct Giver {
    const Value* value;
    std::size_t axis;
  };
  std::map<std::string, Giver> givers_;  // of sizes
  std::vector<std::unique_ptr<ValueStep>> steps_;
  std::vector<const Node*> nodes_;
};

}  // namespace

std::unique_ptr<const Plan> plan_stages(std::unique_ptr<Graph> graph, OpenDevice& device) {
  return StagePlanner(std::move(graph), device).plan();
}

}  // namespace tenon
