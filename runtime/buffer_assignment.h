// Where each value of a graph lies: which buffer, at what strides. Results are put where they are needed, so
// that concatenations, outputs and views cost no copy.
#pragma once
#include <functional>
#include <unordered_set>

#include "ir/graph.h"
#include "kernels/function_ref.h"
#include "runtime/buffers.h"

namespace tenon {

class BufferAssignment {
 public:
  /// The outputs of these numbers lie in pinned memory: a value is never put there, but copied.
  BufferAssignment(const Graph& graph, Buffers& buffers, std::span<const std::size_t> pinned_outputs = {});

  bool known(const Value* value) const;
  /// Where a planned value lies. Weights and literals lie in their own bytes.
  const PlannedTensor& at(const Value* value);
  const std::unordered_map<const Value*, PlannedTensor>& all() const { return assigned_; }
  /// How a planned value lies, or a constant.
  const Strided& layout(const Value* value) const;
  /// The data of a weight, or of what is computed from weights alone; nullopt for any other value.
  std::optional<Tensor> constant(const Value* value) const;
  /// Says where a value lies: a view of another, or a constant.
  void bind(const Value* value, PlannedTensor tensor);

  /// Memory for a result: where it is needed, if `fits` accepts that memory, else memory of its own in this
  /// order.
  PlannedTensor assign(const Value* value, const Order& order, FunctionRef<bool(const PlannedTensor&)> fits);
  PlannedTensor assign(const Value* value, const Order& order);
  /// Memory whose rows in this order are contiguous and evenly spaced (see row_stride).
  PlannedTensor assign_rows(const Value* value, const Order& order);
  /// The memory of `operand` for `value`, when both have one type and `reader` is the last that needs the
  /// operand's memory; nullopt otherwise.
  std::optional<PlannedTensor> assign_over(const Value* value, const Value* operand, const Node& reader);

  /// The order in which a consumer that permutes the value finds it dense; row-major where there is none.
  Order order_for_reader(const Value* value) const;

  /// The memory that the parts of a concatenation are slices of; itself the begin of a longer one that has
  /// the same parts first and lies in the same order.
  const PlannedTensor& concat_whole(const Node& concat);
  /// The slice that operand i of a concatenation fills.
  PlannedTensor concat_slice(const Node& concat, std::size_t operand);
  /// The memory of complex numbers whose parts are put there.
  const PlannedTensor& complex_whole(const Node& complex);
  /// The memory of the graph's i-th result.
  const PlannedTensor& output(std::size_t i) const { return outputs_[i]; }

  /// Marks a node as planned: it reads its inputs no more.
  void finish(const Node& node) { finished_.insert(&node); }
  /// True when the value lies, or will lie, channels last.
  bool made_channels_last(const Value* value);
  /// True when a kernel that reads the value works on channels-last memory.
  bool read_channels_last(const Value* value) const;
  /// Set by the planner: true for operators whose kernels need channels-last memory.
  std::function<bool(const Op&)> works_channels_last;

 private:
  PlannedTensor new_memory(const Value* value, const Order& order,
                           FunctionRef<bool(const PlannedTensor&)> fits);
  std::optional<PlannedTensor> destination(const Value* value);
  std::optional<PlannedTensor> own_destination(const Value* value);
  std::optional<PlannedTensor> behind(const Node& view, const Value* operand, const PlannedTensor& target);
  std::vector<const Node*> longer_concats(const Node& concat) const;
  std::optional<PlannedTensor> begin_of_longer(const Node& concat, bool channels_last);
  /// What is known without a look at the value's operands.
  std::optional<bool> known_channels_last(const Value* value) const;
  bool is_channels_last_kernel(const Node& node) const;
  bool dies_at(const PlannedTensor& place, const Node& reader);

  const Graph& graph_;
  Buffers& buffers_;
  std::unordered_map<const Value*, PlannedTensor> assigned_;
  std::unordered_map<std::size_t, std::vector<const Value*>> values_in_;  // by buffer
  std::unordered_map<const Value*, bool> channels_last_;
  std::unordered_set<const Node*> finished_;
  std::vector<PlannedTensor> outputs_;
};

}  // namespace tenon
