// Attributes that change from call to call, as inputs and outputs of the graph.
#pragma once
#include "converter/interpreter/interpreter.h"

namespace tenon::converter {

/// Runs a method that leaves attributes of the model with other values than it found. Each becomes an input
/// and an output of one name, "state.PATH" (runtime/stream.h carries it from call to call; a stream begins
/// with zeros). What the file holds for it, and how a first call differs from later ones, is chosen by the
/// input "state.started".
class States {
 public:
  States(Interpreter& interpreter, const ts::Function& method, std::vector<Datum> arguments);

  /// Adds the inputs and runs the method. Throws Error(unsupported) for an attribute that has no fixed form.
  Datum run();
  /// The graph's results for the next call, with their names.
  void add_results();
  /// After run(): attributes change, but the first call and the later ones compute the same (a model that
  /// notes that it has warned).
  bool computes_the_same() const { return computes_the_same_; }

 private:
  /// An attribute, or the memory of a tensor of the model.
  struct Cell {
    std::string path;
    ObjectStore::Slots::key_type slot{};
    std::shared_ptr<Buffer> buffer;  // null: the attribute is assigned
    Datum form;                      // what a call leaves: its tensors are inputs and outputs
    bool numbers_vary = false;       // numbers in it are, too
    bool shared = false;             // its memory may be seen elsewhere
    std::vector<Value*> inputs;
  };

  void find_cells();
  bool add_changed(const World& start, const World& after);
  bool update(Cell& cell, const Datum& now);
  bool conforms(const Cell& cell, const Datum& initial) const;
  bool is_leaf(const Cell& cell, const Datum& d) const;
  std::vector<Type> leaf_types(const Cell& cell) const;
  Datum current(const Cell& cell) const;
  void begin(const Cell& cell, std::vector<Ref> values);
  std::vector<Ref> values(const Cell& cell, const Datum& now);
  void add_inputs();
  Datum call();
  Datum run_after_initial_values();
  Datum run_first_or_later();

  Interpreter& interpreter_;
  Builder& build_;
  ObjectStore& objects_;
  const ts::Function& method_;
  std::vector<Datum> arguments_;
  std::vector<Cell> cells_;
  std::optional<World> before_;
  Value* started_ = nullptr;
  bool computes_the_same_ = false;
};

}  // namespace tenon::converter
