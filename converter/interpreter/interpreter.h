// Runs a TorchScript method on abstract values: what is known runs, tensors become graph nodes.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "converter/declared_types.h"
#include "converter/interpreter/loop_writer.h"
#include "converter/interpreter/objects.h"
#include "converter/interpreter/snapshot.h"
#include "converter/report.h"

namespace tenon::converter {

/// An exception of the model's code. Where it is not known whether the code runs, it becomes a check.
class ModelRaised : public Error {
 public:
  explicit ModelRaised(const std::string& text)
      : Error("the model raises an error for this input: " + text, Exit::bad_input), said(text) {}
  std::string said;
};

class Interpreter {
 public:
  Interpreter(const ts::Program& program, Graph& graph, UnsupportedReport& report, ConvertNotes& notes)
      : program_(program), build_(graph), objects_(program, build_), report_(report), notes_(notes) {}

  Builder& builder() { return build_; }
  ObjectStore& objects() { return objects_; }

  /// A size of the trace that the conversion has as a symbol: literals of that value are noted.
  void watch_size(std::int64_t size, std::string description) {
    watched_.emplace(size, std::move(description));
  }

  /// Sets the declared types of an exported program; the inferred sizes are checked against them.
  void set_declared_types(DeclaredTypes types) {
    build_.set_exported_minima(types.exported_minima());
    declared_types_ = std::move(types);
  }

  /// Calls a function; `path` is that of the module it belongs to. What is unsupported goes into the report
  /// and gives Poison; Error is thrown for what is wrong in any case (shapes that do not fit, a raised
  /// exception).
  AbstractValue call(const ts::Function&, std::vector<AbstractValue> arguments, const std::string& path);

  /// Runs in a region that is thrown away together with its notes, then restores `before`. Returns the state
  /// that the run left; its values are gone, but their types are known.
  Snapshot on_trial(const Snapshot& before, const std::function<void(Region&)>& run);

 private:
  struct CallFrame {
    const ts::Function& function;
    std::string path;
    std::vector<AbstractValue> values;
    std::set<ts::ValueId> unforeseen;  // values whose types differ from the declared ones
  };

  using Outputs = std::vector<AbstractValue>;

  void run_block(const ts::Block&, CallFrame&);
  void run_node(const ts::Node&, CallFrame&);
  Outputs evaluate(const ts::Node&, CallFrame&);
  Outputs evaluate_prim(const ts::Node&, CallFrame&);
  Outputs evaluate_operator(const ts::Node&, const std::vector<AbstractValue>& inputs);
  Outputs run_if(const ts::Node&, CallFrame&);
  Outputs run_branch(const ts::Block&, CallFrame&);
  Outputs run_loop(const ts::Node&, CallFrame&);
  void run_step(const ts::Block& body, CallFrame&, const AbstractValue& step, LoopState&);
  /// unknown_if.cpp: runs both blocks and merges the states that they leave.
  Outputs run_unknown_if(const ts::Node&, CallFrame&, const AbstractValue& condition);
  /// unknown_loop.cpp: false, and nothing done, when the step appends to a list under an unknown condition.
  bool run_known_step(const ts::Node&, CallFrame&, LoopState&);
  /// The same file: from where the number of the remaining steps is not known.
  Outputs run_unknown_loop(const ts::Node&, CallFrame&, const LoopState&);

  /// What a run reports and notes, to be taken back when it was a trial.
  struct Remarks {
    UnsupportedReport report;
    ConvertNotes notes;
    std::set<std::string> baked;
    std::size_t callers;
  };
  Remarks remarks() const { return {report_, notes_, baked_, callers_.size()}; }
  void take_back(const Remarks&);
  Outputs skip(const torchscript::Node&, const CallFrame&);
  Outputs run_tensor_operator(const ts::Node&, std::string_view name, std::string_view overload,
                              const std::vector<AbstractValue>& inputs);

  static TensorPtr written_by(const ts::Node&, const CallFrame&);
  bool reads_unforeseen(const ts::Node&, const CallFrame&);
  bool matches_declared_type(const ts::Node&, std::size_t output, const AbstractValue&, const CallFrame&);
  void poison_written(const ts::Node&, const std::vector<AbstractValue>& inputs);
  /// Notes what is unsupported; throws what is wrong, with the place.
  void report(const ts::Node&, const CallFrame&, const Error&);
  Outputs call_node(const ts::Node&, CallFrame&, std::vector<AbstractValue> inputs);
  Source source_of(const ts::Node&, const CallFrame&) const;
  std::vector<AbstractValue> inputs_of(const ts::Node&, const CallFrame&) const;
  void note(ConvertNote::Kind, std::string text);
  /// That modules which ask whether they train were saved so, and are converted as if not.
  void note_training_mode();
  void note_baked_sizes(const ts::Node&, std::string_view name, const std::vector<AbstractValue>& inputs);
  void count_step();

  const ts::Program& program_;
  Builder build_;
  ObjectStore objects_;
  UnsupportedReport& report_;
  ConvertNotes& notes_;
  DeclaredTypes declared_types_;
  std::set<TensorPtr> reshaped_;                      // by squeeze_ and its kin
  bool failed_ = false;                               // an Error with its place is on its way out
  std::vector<std::pair<std::string, int>> callers_;  // file and line of the calls under way
  std::vector<std::vector<AbstractValue>*> frames_;   // the variables of the calls under way
  std::map<std::int64_t, std::string> watched_;
  std::set<std::string> baked_;  // what was noted of them: operator, argument, number
  Source here_;                  // of the node that runs
  std::int64_t steps_ = 0, operations_ = 0;
  int depth_ = 0;
  int open_loops_ = 0;  // whose steps are run on trial, or can be taken back
};

/// True when a value has the type, as isinstance() and Optional refinement ask.
bool has_type(const AbstractValue&, const ts::Type&);

}  // namespace tenon::converter
