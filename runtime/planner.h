// Turns a graph of known sizes into steps over planned memory.
#pragma once
#include <map>

#include "runtime/device.h"
#include "runtime/group.h"
#include "runtime/pack_cache.h"
#include "runtime/places.h"
#include "runtime/plan.h"

namespace tenon {

/// Walks the graph once in order. Each node becomes steps through the first maker that takes it
/// (Device::makers); what none takes is opened: fused groups into their members, composite operators
/// into their parts; the rest runs its reference.
class Planner {
 public:
  /// The graph's sizes must be known (specialize); the planner opens nodes in it. A plan that runs once packs
  /// the weights of products while it uses them, and does not keep them.
  Planner(std::unique_ptr<Graph> graph, const Device& device, Queue& queue, PackCache& packs,
          bool runs_once = false);
  std::unique_ptr<const Plan> plan();

  // What makers of steps use.
  Places& places() { return places_; }
  const Device& device() const { return device_; }
  Queue& queue() { return queue_; }
  PackCache& packs() { return packs_; }
  bool runs_once() const { return runs_once_; }
  /// Data that is there before a run.
  PlannedTensor constant(const Tensor& tensor) { return buffers_.constant(tensor); }
  const Buffer& buffer(const PlannedTensor& tensor) const { return buffers_.of(tensor); }
  /// The value's place if its rows in this order are evenly spaced, else a copy of it that has such rows.
  PlannedTensor rows(const Value* value, const Order& order);
  /// The value in dense row-major memory, copied there if need be.
  PlannedTensor dense(const Value* value);
  /// What steps derive from values before they compute (edges in order): made once, by the first that asks
  /// for it, for all that ask for the same form of the same values.
  const PlannedTensor& derived(const std::vector<const Value*>& from, const std::string& form,
                               FunctionRef<PlannedTensor()> make);
  /// Memory that is no value's.
  PlannedTensor bytes(std::size_t count);
  /// Adds a step on behalf of the node that is being planned, which computes none of its results.
  void prepare(std::unique_ptr<Step> step, std::vector<PlannedTensor> reads,
               std::vector<PlannedTensor> writes);
  /// Adds the step that computes a node, which reads and writes these places.
  void emit(std::unique_ptr<Step> step, const Node& node, std::vector<PlannedTensor> reads,
            std::vector<PlannedTensor> writes);
  /// Adds a copy on behalf of a node (null: of the graph's result), unless both are the same memory.
  void copy(const PlannedTensor& from, const PlannedTensor& to, const Node* node);

 private:
  void add(std::unique_ptr<Step> step, const Node* node, std::vector<PlannedTensor> reads,
           std::vector<PlannedTensor> writes);
  std::optional<std::size_t> known_branch(const Node& node) const;
  bool fold(const Node& node);
  bool computes_nothing(const Node& node);
  bool try_makers(Node& node);
  void copy_results();
  PlannedTensor copied(const Value* value, const Order& order, FunctionRef<bool(const PlannedTensor&)> fits);

  std::unique_ptr<Graph> graph_;
  const Device& device_;
  Queue& queue_;
  PackCache& packs_;
  bool runs_once_;
  std::size_t may_fold_;  // bytes
  Buffers buffers_;
  Places places_;
  std::vector<std::unique_ptr<Step>> steps_;
  std::vector<const Node*> step_nodes_;
  std::unordered_map<const Value*, std::vector<PlannedTensor>> copies_;
  std::map<std::pair<std::vector<const Value*>, std::string>, PlannedTensor> derived_;
  std::size_t scratch_bytes_ = 0;
  const Node* current_ = nullptr;  // being planned
};

}  // namespace tenon
