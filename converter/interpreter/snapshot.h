// The mutable state of the interpreted program, so that a block can be run on trial and undone.
#pragma once
#include <functional>
#include <map>
#include <span>

#include "converter/interpreter/objects.h"

namespace tenon::converter {

/// The content of variables, attributes, lists, dicts and the memory of tensors at one moment. Everything
/// keeps its identity: restore() puts the contents back into the same things.
class Snapshot {
 public:
  /// Takes everything that the variables and attributes reach.
  Snapshot(std::span<std::vector<AbstractValue>* const> variables, ObjectStore& objects);

  /// A new snapshot of the same objects.
  Snapshot now() const;
  void restore() const;
  ObjectStore& objects() const { return *objects_; }
  bool holds(const std::shared_ptr<Buffer>& buffer) const { return buffers.contains(buffer); }

  std::map<std::shared_ptr<Buffer>, Buffer> buffers;
  std::map<TensorPtr, AbstractTensor> tensors;
  std::map<ListPtr, List> lists;
  std::map<DictPtr, Dict> dicts;
  ObjectStore::AttributeSlots slots;

 private:
  void visit(const AbstractValue&);

  ObjectStore* objects_;
  std::vector<std::pair<std::vector<AbstractValue>*, std::vector<AbstractValue>>> variables_;
  std::set<const void*> seen_;
};

/// Throws Error(unsupported) when a tensor is a different view of its memory in the two snapshots.
void check_same_views(const Snapshot& before, const Snapshot& after);
/// True when a variable still holds the same thing (which may have changed inside), or an equal number.
bool is_same_thing(const AbstractValue& a, const AbstractValue& b);
/// A copy of nested tuples and lists in which what f returns for each item takes its place. The lists are
/// fixed if `what` says what they are.
AbstractValue rebuilt(const AbstractValue&, const std::function<AbstractValue(const AbstractValue&)>& f,
                      const std::string& what = "");
/// True when an attribute that holds `b` behaves in the next call as one that holds `a`: lists are equal when
/// their items are, tensors when they are the same view of the same memory.
bool same_attribute(const AbstractValue& a, const AbstractValue& b);
/// True when a buffer's content is the same.
bool is_same_content(const Buffer& a, const Buffer& b);

}  // namespace tenon::converter
