// Runs a TorchScript method on abstract values: what is known runs, tensors become graph nodes.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "converter/interpreter/loop_writer.h"
#include "converter/interpreter/objects.h"
#include "converter/interpreter/world.h"
#include "converter/promises.h"
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

  /// What the symbols of an exported program are here: the sizes it promises are checked.
  void set_promises(Promises promises) {
    build_.set_exported_minima(promises.exported_minima());
    promises_ = std::move(promises);
  }

  /// Calls a function; `path` is that of the module it belongs to. What is unsupported goes into the report
  /// and gives Poison; Error is thrown for what is wrong in any case (shapes that do not fit, a raised
  /// exception).
  Datum call(const ts::Function&, std::vector<Datum> arguments, const std::string& path);

  /// Runs in a region that is thrown away, with what was said; then all is as it was before. The world that
  /// the run left: its values are gone, their types are not.
  World on_trial(const World& before, const std::function<void(Region&)>& run);

 private:
  struct Frame {
    const ts::Function& function;
    std::string path;
    std::vector<Datum> values;
    std::set<ts::ValueId> unforeseen;  // values whose types the exporter did not foresee
  };

  using Outputs = std::vector<Datum>;

  void run_block(const ts::Block&, Frame&);
  void run_node(const ts::Node&, Frame&);
  Outputs evaluate(const ts::Node&, Frame&);
  Outputs evaluate_prim(const ts::Node&, Frame&);
  Outputs evaluate_operator(const ts::Node&, const std::vector<Datum>& inputs);
  Outputs run_if(const ts::Node&, Frame&);
  Outputs run_branch(const ts::Block&, Frame&);
  Outputs run_loop(const ts::Node&, Frame&);
  void run_step(const ts::Block& body, Frame&, const Datum& step, LoopState&);
  /// unknown_if.cpp: runs both blocks; what they leave behind is joined.
  Outputs run_unknown_if(const ts::Node&, Frame&, const Datum& condition);
  /// unknown_loop.cpp: false, and nothing done, when the step appends to a list under an unknown condition.
  bool run_known_step(const ts::Node&, Frame&, LoopState&);
  /// The same file: from where the number of the remaining steps is not known.
  Outputs run_unknown_loop(const ts::Node&, Frame&, const LoopState&);

  /// What a run reports and notes, to be taken back when it was a trial.
  struct Remarks {
    UnsupportedReport report;
    ConvertNotes notes;
    std::set<std::string> baked;
    std::size_t callers;
  };
  Remarks remarks() const { return {report_, notes_, baked_, callers_.size()}; }
  void take_back(const Remarks&);
  Outputs skip(const torchscript::Node&, const Frame&);
  Outputs run_tensor_operator(const ts::Node&, std::string_view name, std::string_view overload,
                              const std::vector<Datum>& inputs);

  static TensorPtr written_by(const ts::Node&, const Frame&);
  bool reads_unforeseen(const ts::Node&, const Frame&);
  bool keeps_promise(const ts::Node&, std::size_t output, const Datum&, const Frame&);
  void poison_written(const ts::Node&, const std::vector<Datum>& inputs);
  /// Notes what is unsupported; throws what is wrong, with the place.
  void report(const ts::Node&, const Frame&, const Error&);
  Outputs call_node(const ts::Node&, Frame&, std::vector<Datum> inputs);
  Source source_of(const ts::Node&, const Frame&) const;
  std::vector<Datum> inputs_of(const ts::Node&, const Frame&) const;
  void note(ConvertNote::Kind, std::string text);
  /// That modules which ask whether they train were saved so, and are converted as if not.
  void note_training_mode();
  void note_baked_sizes(const ts::Node&, std::string_view name, const std::vector<Datum>& inputs);
  void count_step();

  const ts::Program& program_;
  Builder build_;
  ObjectStore objects_;
  UnsupportedReport& report_;
  ConvertNotes& notes_;
  Promises promises_;
  std::set<TensorPtr> reshaped_;                      // by squeeze_ and its kin
  bool failed_ = false;                               // an Error with its place is on its way out
  std::vector<std::pair<std::string, int>> callers_;  // file and line of the calls under way
  std::vector<std::vector<Datum>*> frames_;           // the variables of the calls under way
  std::map<std::int64_t, std::string> watched_;
  std::set<std::string> baked_;  // what was noted of them: operator, argument, number
  Source here_;                  // of the node that runs
  std::int64_t steps_ = 0, operations_ = 0;
  int depth_ = 0;
  int open_loops_ = 0;  // whose steps are run on trial, or can be taken back
};

/// True when a value has the type, as isinstance() and Optional refinement ask.
bool has_type(const Datum&, const ts::Type&);

}  // namespace tenon::converter
