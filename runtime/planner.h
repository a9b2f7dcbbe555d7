// Turns a graph of known sizes into steps over planned memory.
#pragma once
#include <map>

#include "runtime/buffer_assignment.h"
#include "runtime/group.h"
#include "runtime/open_device.h"
#include "runtime/plan.h"
#include "runtime/refusal.h"

namespace tenon {

struct PlanOptions {
  /// The weights of products are packed while they are used, and not kept.
  bool runs_once = false;
  /// Its steps start together where the device records.
  bool is_recorded = false;
  /// Outputs, by number, that the host reads between steps: they lie in pinned memory.
  std::vector<std::size_t> pinned_outputs = {};
};

/// Walks the graph once in order. The device names candidates for each node (Device::lowerings,
/// Device::general), of which one is taken and adds its steps. What has none is decomposed: fused groups into
/// their members, composite operators into their parts.
class Planner {
 public:
  /// The graph's sizes must be known (specialize); the planner decomposes nodes in it. The device must
  /// outlive the plan.
  Planner(std::unique_ptr<Graph> graph, OpenDevice& device, PlanOptions options = {});
  /// Throws Error with all operators that the device has no kernel for, before anything is compiled.
  std::unique_ptr<Plan> plan();

  // What plan() does, for those whose plan is a part of another: first all are chosen, then all requested.
  void choose();
  const Refusal& refusal() const { return refusal_; }
  void request();
  std::unique_ptr<Plan> finish();

  // What lowerings ask; it changes nothing.
  const BufferAssignment& assignment() const { return assignment_; }
  /// BufferAssignment::constant, but the 16-bit weight where the value is that weight in float32.
  std::optional<Tensor> stored_weight(const Value* value) const;
  int threads() const { return open_.queue->threads(); }
  const OpenDevice& device() const { return open_; }
  bool runs_once() const { return options_.runs_once; }
  bool shares_memory() const { return device_.shares_memory; }
  /// The weights in the forms that kernels read, for all plans.
  WeightStore& weights() const { return open_.weights; }
  /// Seconds of a kernel on this device (Device::estimate).
  double estimate(double cost, double bytes) const;
  /// Seconds of the copy that a value needs which does not lie as a kernel reads it.
  double estimate_copy(const Value* value, FunctionRef<bool(const Strided&)> fits) const;

  // What candidates use once they are taken.
  /// By which the one that was taken runs.
  const Schedule& schedule() const { return schedule_; }
  BufferAssignment& assignment() { return assignment_; }
  OpenDevice& device() { return open_; }
  Queue& queue() { return *open_.queue; }
  /// Data that is there before a run.
  PlannedTensor constant(const Tensor& tensor) { return buffers_.constant(tensor); }
  const Buffer& buffer(const PlannedTensor& tensor) const { return buffers_.of(tensor); }
  PlannedTensor repeated(const PlannedTensor& tensor) const { return buffers_.repeated(tensor); }
  /// The value as it lies if that fits, else a copy of it in this order, which does.
  PlannedTensor copied(const Value* value, const Order& order, FunctionRef<bool(const PlannedTensor&)> fits);
  /// The value as it lies if its rows in this order are evenly spaced, else a copy of it that has such rows.
  PlannedTensor rows(const Value* value, const Order& order);
  /// The value in dense row-major memory, copied there if need be.
  PlannedTensor dense(const Value* value);
  /// The same with its axes in this order.
  PlannedTensor dense(const Value* value, const Order& order);
  /// The value stretched to these sizes in dense row-major memory.
  PlannedTensor broadcast(const Value* value, const Index& sizes);
  /// What steps derive from values before they compute (edges in order): made once, by the first that asks
  /// for it, for all that ask for the same form of the same values.
  const PlannedTensor& derived(const std::vector<const Value*>& from, const std::string& form,
                               FunctionRef<PlannedTensor()> make);
  /// Memory that is no value's.
  PlannedTensor bytes(std::size_t count);
  /// Memory of 32-bit zeros that is the step's alone, which writes to it and leaves zeros.
  PlannedTensor zeros(std::int64_t count);
  /// Adds a step on behalf of the node that is being planned, which computes none of its results.
  void prepare(std::unique_ptr<Step> step, std::vector<PlannedTensor> reads,
               std::vector<PlannedTensor> writes);
  /// Adds the step that computes a node. Its kernel, schedule and arithmetic are the candidate's unless the
  /// step names another kernel, its operations are the node's unless the step counts its own.
  void emit(std::unique_ptr<Step> step, const Node& node, std::vector<PlannedTensor> reads,
            std::vector<PlannedTensor> writes);
  /// The value where the host reads it: as it lies, or a copy of it in pinned memory.
  PlannedTensor on_host(const Value* value);
  /// Where the host writes what is to lie in a dense tensor: there, or in pinned memory, from which upload()
  /// copies it.
  PlannedTensor written_by_host(const PlannedTensor& tensor);
  void upload(const PlannedTensor& from, const PlannedTensor& to, const Node* node);
  /// What a part of the node that is being planned cannot be computed by.
  void refuse(const Refusal& of_part) { refusal_.add(of_part); }
  /// Adds a copy on behalf of a node (null: of the graph's input or result), unless both are the same memory.
  void copy(const PlannedTensor& from, const PlannedTensor& to, const Node* node);

 private:
  void add(std::unique_ptr<Step> step, const Node* node, std::vector<PlannedTensor> reads,
           std::vector<PlannedTensor> writes);
  std::optional<std::size_t> known_branch(const Node& node) const;
  bool fold_widened_weight(const Node&);
  bool fold_widened_codes(const Node&);
  bool fold(const Node& node);
  bool computes_nothing(const Node& node);
  enum class Lowered { not_at_all, as_it_is, in_parts };
  Lowered lower(Node& node);
  std::vector<CandidateInfo> splits(const Group& group, std::span<const CandidateInfo> wholes) const;
  Node* plan_node(Node& node);
  void refuse(const Node& node);
  void copy_results();
  void number_faults();
  void lay_out_buffers();

  std::unique_ptr<Graph> graph_;
  OpenDevice& open_;
  const Device& device_;
  PlanOptions options_;
  std::size_t may_fold_;                                     // bytes
  std::unordered_map<const Value*, Tensor> stored_weights_;  // of those widened
  std::unordered_set<const Value*> from_codes_;              // made of integers if a step reads them
  Buffers buffers_;
  BufferAssignment assignment_;
  std::unique_ptr<Plan> plan_ = std::make_unique<Plan>();
  Refusal refusal_;
  std::unordered_map<const Value*, std::vector<PlannedTensor>> copies_;
  std::unordered_map<const Value*, PlannedTensor> host_copies_;
  std::optional<PlannedTensor> zeros_;  // that no step has yet
  std::map<std::pair<std::vector<const Value*>, std::string>, PlannedTensor> derived_;
  const Node* current_ = nullptr;  // being planned
  std::string kernel_;             // of the candidate that was taken for it
  Schedule schedule_;              // the same
  std::optional<ArithmeticKind> arithmetic_;
};

}  // namespace tenon
