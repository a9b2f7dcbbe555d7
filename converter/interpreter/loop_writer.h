// A loop of the graph, written from one run of its body.
#pragma once
#include <functional>

#include "converter/interpreter/regions.h"
#include "converter/interpreter/snapshot.h"
#include "converter/region_sizes.h"
#include "ir/ops/control.h"

namespace tenon::converter {

/// A loop of the program between two steps.
struct LoopState {
  AbstractValue trips, go_on;  // how many steps there are at most, and whether there is another
  std::vector<AbstractValue> carried;
  std::int64_t step = 0;
};

/// The body is traced once, in a region, with symbolic values for everything that changes from step to step.
/// What changes is found as a fixpoint: each attempt assumes that everything not yet known to change is
/// loop-invariant.
class LoopWriter {
 public:
  /// Runs the body for a step with this number.
  using Body = std::function<void(const AbstractValue& number, LoopState&)>;

  /// From here on the number of steps is not known. Throws Error(unsupported) when it cannot be computed.
  LoopWriter(Builder& builder, const Snapshot& before, LoopState start, Source source);

  /// True when the loop is written. Otherwise the caller undoes the attempt and tries again; the next attempt
  /// knows more. Throws Error(unsupported) for a value that a loop cannot carry.
  bool attempt(const Body& body);
  /// Records a fact for the next attempt. False when it was known already, or when the list is made in the
  /// loop.
  bool learns(const ListGrows& of) {
    auto& known = of.length ? changing_.counted : changing_.growing;
    return before_.lists.contains(of.list) && (!of.length || changing_.growing.contains(of.list)) &&
           known.insert(of.list).second;
  }
  /// Removes the node of the attempt.
  void discard();
  /// The values after the loop; the snapshot from before the loop is updated with them.
  std::vector<AbstractValue> finish();

 private:
  /// Everything that a step changes, grouped by where it is stored.
  struct Changing {
    std::set<std::size_t> variables;
    std::set<std::shared_ptr<Buffer>> buffers;
    std::set<ObjectStore::AttributeSlots::key_type> slots;
    std::set<std::pair<ListPtr, std::size_t>> items;
    std::set<std::pair<DictPtr, std::size_t>> values;
    /// In the tuples and lists that any of these hold, by its key.
    std::set<std::string> leaves;
    /// Of the lists in these, those that a step replaces by another; and lists that were or become one of
    /// them.
    std::set<std::string> replaced;
    std::set<ListPtr> fixed;
    std::set<ListPtr> growing, counted;  // counted: len is asked in the body
    StepSizes sizes;
    /// Memory from before the loop that a step may leave in a variable; variables that it may leave with one
    /// memory; those whose elements may share memory. By their keys.
    std::set<std::pair<std::string, std::shared_ptr<Buffer>>> shared;
    std::set<std::pair<std::string, std::string>> alike;
    std::set<std::string> repeating;
    bool operator==(const Changing&) const = default;
  };
  using Locator = std::function<AbstractValue*()>;
  /// A variable, attribute or item that holds tuples or lists. Each step begins with its own copies of those
  /// that steps replace.
  struct Structure {
    std::string key;
    Locator place;
    AbstractValue begun;
  };
  /// A value that goes from step to step.
  struct Carried {
    std::string key;  // where it stands; empty for the memory of a tensor
    Ref initial;
    std::function<void(Ref)> set;  // to what a step begins with
    std::function<Ref()> read;     // what a step leaves
    Locator place;                 // the variable; null for what is none
    AbstractValue form;            // of the variable
    TensorPtr last = nullptr;      // the tensor that a step leaves in the variable
  };

  void set_limit();
  std::vector<Carried> carried();
  Carried variable(std::string key, const std::string& what, Locator place);
  void add(std::vector<Carried>& all, const std::string& key, const std::string& what, const Locator& place);
  void add_items(std::vector<Carried>& all, const std::string& key, const std::string& what,
                 const Locator& place);
  Carried count_of(const ListPtr&);
  std::string key_of(const ObjectStore::AttributeSlots::key_type&) const;
  void begin_structures();
  AbstractValue own(const std::string& key, const AbstractValue&) const;
  void find_leaves(const std::string& key, const AbstractValue& before, const AbstractValue& after);
  void find_changes(const LoopState& began, const LoopState& ended);
  void find_shared(const std::vector<Carried>& all);
  void share(const std::vector<Carried>& all) const;
  std::vector<StepSizes::Carried> carried_sizes(const std::vector<Ref>& results) const;
  bool write_results(std::vector<Carried>& all);
  void write_slices();
  Loop complete_op();
  Ref go_on();

  Builder& build_;
  const Snapshot& before_;
  LoopState start_, state_;
  Source source_;
  std::optional<Dim> limit_;
  Ref first_, count_;  // whether there is a first step; the number of steps where it depends on data
  Changing changing_;
  std::vector<std::pair<TensorPtr, Value*>> begun_;  // what variables held at the begin of the step
  std::vector<Carried> all_;
  std::vector<Structure> structures_;
  std::vector<std::pair<ListPtr, bool>> slices_;  // lists; whether only some steps append to them
  bool may_stop_ = false;                         // before its limit
  Node* node_ = nullptr;
};

}  // namespace tenon::converter
