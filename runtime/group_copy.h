// A fused group that is made of members of another one.
#pragma once
#include <unordered_map>
#include <vector>

#include "ir/ops/cast.h"
#include "runtime/group.h"

namespace tenon {

/// A new group in the body before a node, which is filled with copies of members of `group`.
class GroupCopy {
 public:
  GroupCopy(Region& body, Node& before, const Group& group, const Type& result);

  /// A value of the body, as an operand inside.
  Value* read(const Value* outer);
  /// What a member reads: a value of the body, or a copy.
  Value* operand(const Value* inner);
  /// Members that read `inner` read this value of the body.
  void replace(const Value* inner, const Value* outer) { copies_[inner] = take(outer); }
  void add(const Node& member, std::vector<Value*> operands);
  Value* cast(DType to, Value* of, const Source& source);
  /// The new node, which gives this value.
  Node* finish(Value* result);

 private:
  Value* take(const Value* outer);
  Region& inside() { return made_->region(); }

  const Group& group_;
  Node* made_;
  std::unordered_map<const Value*, Value*> copies_;  // of values of the group and of the body
};

}  // namespace tenon
