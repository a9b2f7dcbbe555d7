// All that a block of the interpreted program may change, so that it can be run on trial.
#pragma once
#include <functional>
#include <map>
#include <span>

#include "converter/interpreter/objects.h"

namespace tenon::converter {

/// The content of variables, attributes, lists, dicts and the memory of tensors at one moment. Everything
/// keeps its identity: restore() puts the contents back into the same things.
class World {
 public:
  /// What the variables and attributes reach.
  World(std::span<std::vector<Datum>* const> variables, ObjectStore& objects);

  /// The same things as they are now.
  World now() const;
  void restore() const;
  ObjectStore& objects() const { return *objects_; }
  bool holds(const std::shared_ptr<Buffer>& buffer) const { return buffers.contains(buffer); }

  std::map<std::shared_ptr<Buffer>, Buffer> buffers;
  std::map<TensorPtr, AbstractTensor> tensors;
  std::map<ListPtr, List> lists;
  std::map<DictPtr, Dict> dicts;
  ObjectStore::Slots slots;

 private:
  void visit(const Datum&);

  ObjectStore* objects_;
  std::vector<std::pair<std::vector<Datum>*, std::vector<Datum>>> variables_;
  std::set<const void*> seen_;
};

/// Throws Error(unsupported) when a tensor of the one world is another view of its memory in the other.
void check_same_views(const World& before, const World& after);
/// True when a variable still holds the same thing (which may have changed inside), or an equal number.
bool is_same_thing(const Datum& a, const Datum& b);
/// A copy of nested tuples and lists in which what f returns for each item takes its place. The lists are
/// fixed if `what` says what they are.
Datum rebuilt(const Datum&, const std::function<Datum(const Datum&)>& f, const std::string& what = "");
/// True when an attribute that holds `b` behaves in the next call as one that holds `a`: lists are equal when
/// their items are, tensors when they are the same view of the same memory.
bool same_attribute(const Datum& a, const Datum& b);
/// True when a buffer's content is the same.
bool is_same_content(const Buffer& a, const Buffer& b);

}  // namespace tenon::converter
