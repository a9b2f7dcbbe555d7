// A node, or a fused group of nodes, in one form for lowerings.
#pragma once
#include <string>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// A plain node is a group of itself. For a fused node: the nodes of its body in order, whose operands are
/// body parameters; outer() says which values of the graph these stand for.
class Group {
 public:
  explicit Group(const Node& node);

  /// Some of its members, in their order, with the results of the whole.
  Group of(std::vector<const Node*> members) const;

  const Node& node() const { return *node_; }
  const std::vector<const Node*>& members() const { return members_; }
  bool contains(const Value* value) const;
  /// The value of the graph's body that a body value stands for: for parameters the operand; weights,
  /// literals and plain operands are themselves.
  const Value* outer(const Value* inner) const;
  /// The values computed inside that leave the group, one per output of the node.
  const std::vector<const Value*>& results() const { return results_; }
  /// Values from outside that members use, each once, in order of their first use.
  std::vector<const Value*> operands() const;
  /// "conv+add+relu"
  std::string ops() const;
  /// "conv+relu -> f32[1,64,56,56]"
  std::string text() const;

 private:
  const Node* node_;
  std::vector<const Node*> members_;
  std::vector<const Value*> results_;
};

}  // namespace tenon
