// Attributes that change from call to call, as inputs and outputs of the graph.
#pragma once
#include "converter/interpreter/interpreter.h"

namespace tenon::converter {

/// State lifting (functionalisation): runs a method that changes attributes of the model. Each changed
/// attribute becomes an input and an output with the same name, "state.PATH"; runtime/stream.h carries it
/// from call to call, and a stream begins with zeros. The input "state.started" selects between the initial
/// value of the file, with the behaviour of the first call, and that of later calls.
class StateLifting {
 public:
  StateLifting(Interpreter& interpreter, const ts::Function& method, std::vector<AbstractValue> arguments);

  /// Adds the inputs and runs the method. Throws Error(unsupported) for an attribute that has no fixed form.
  AbstractValue run();
  /// The graph's results for the next call, with their names.
  void add_results();
  /// After run(): attributes change, but the first call and the later ones compute the same (a model that
  /// notes that it has warned).
  bool computes_the_same() const { return computes_the_same_; }

 private:
  /// An attribute, or the memory of a tensor of the model.
  struct StateSlot {
    std::string path;
    ObjectStore::AttributeSlots::key_type slot{};
    std::shared_ptr<Buffer> buffer;  // null: the attribute is assigned
    AbstractValue form;              // what a call leaves: its tensors are inputs and outputs
    bool numbers_vary = false;       // its numbers are inputs and outputs too
    bool shared = false;             // its memory may be seen elsewhere
    std::vector<Value*> inputs;
  };

  void find_cells();
  bool add_changed(const Snapshot& start, const Snapshot& after);
  bool update(StateSlot& cell, const AbstractValue& now);
  bool conforms(const StateSlot& cell, const AbstractValue& initial) const;
  bool is_leaf(const StateSlot& cell, const AbstractValue& d) const;
  std::vector<Type> leaf_types(const StateSlot& cell) const;
  AbstractValue current(const StateSlot& cell) const;
  void begin(const StateSlot& cell, std::vector<Ref> values);
  std::vector<Ref> values(const StateSlot& cell, const AbstractValue& now);
  void add_inputs();
  AbstractValue call();
  AbstractValue run_after_initial_values();
  AbstractValue run_first_or_later();

  Interpreter& interpreter_;
  Builder& build_;
  ObjectStore& objects_;
  const ts::Function& method_;
  std::vector<AbstractValue> arguments_;
  std::vector<StateSlot> cells_;
  std::optional<Snapshot> before_;
  Value* started_ = nullptr;
  bool computes_the_same_ = false;
};

}  // namespace tenon::converter
