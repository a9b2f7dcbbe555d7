// Merges the interpreter states that two branches left: what differs becomes an output of the `if` node
// (phi).
#pragma once
#include <array>
#include <functional>

#include "base/error.h"
#include "converter/interpreter/snapshot.h"
#include "converter/region_sizes.h"
#include "ir/ops/control.h"

namespace tenon::converter {

class BranchMerge {
 public:
  /// `before` is the state before the `if`, `after` are the states that the two regions of `node` left. What
  /// cannot be merged becomes a DivergentValue, with `why` (the condition) in its text.
  BranchMerge(Builder& builder, Node& node, const Snapshot& before, std::array<const Snapshot*, 2> after,
              std::string why);

  /// A variable that holds `a` after one region and `b` after the other.
  AbstractValue value(const AbstractValue& a, const AbstractValue& b);
  /// Restores the state before the `if`, stores the merged content in it and adds the outputs to the node.
  void finish();
  /// Whether anything became a DivergentValue.
  bool is_divergent() const { return is_divergent_; }

 private:
  using ReadValue = std::function<Ref()>;
  struct Output {
    std::array<ReadValue, 2> read;
    std::function<void(Value*)> set;
  };

  AbstractValue divergent(std::string what);
  AbstractValue of_one(const AbstractValue&, std::size_t branch);
  void appended(const ListPtr&, const List& a, const List& b);
  AbstractValue tensors(const TensorPtr& a, const TensorPtr& b);
  AbstractValue lists(const ListPtr& a, const ListPtr& b);
  AbstractValue one_for(const void* a, const void* b, const std::function<AbstractValue()>& make);
  TensorPtr output(Type type, ReadValue a, ReadValue b);
  void aliases(const TensorPtr& merged, const TensorPtr& from);
  std::vector<AbstractValue> items(const std::vector<AbstractValue>& a, const std::vector<AbstractValue>& b);
  void buffers();
  void containers();
  void attributes();

  Builder& build_;
  Node& node_;
  const Snapshot& before_;
  std::array<const Snapshot*, 2> after_;
  std::string why_;
  std::vector<Output> outputs_;
  If op_;
  BranchSizes sizes_;
  std::vector<std::function<void()>> changes_;  // to apply to the state before
  /// Lists and dicts that were merged, by what they were in a branch; null where a branch has none.
  std::map<const void*, std::pair<std::pair<const void*, const void*>, AbstractValue>> containers_;
  bool is_divergent_ = false;
  std::map<std::shared_ptr<Buffer>, std::vector<std::shared_ptr<Buffer>>>
      made_;  // merged, by where they came from
};

}  // namespace tenon::converter
