// A loop whose steps are not known before the model runs.
#include "base/error.h"
#include "converter/interpreter/interpreter.h"

namespace tenon::converter {

Interpreter::Outputs Interpreter::run_unknown_loop(const ts::Node& node, Frame& frame,
                                                   const LoopState& start) {
  const Source source = source_of(node, frame);
  objects_.touch_all();
  const World before(frames_, objects_);
  const Remarks said = remarks();
  std::optional<LoopWriter> writer;
  try {
    writer.emplace(build_, before, start, source);
  } catch (const Error& e) {
    report_.add("loop", fmt::format("a loop of an unknown number of steps ({})", e.message()), e.hint(),
                source);
    return Outputs(node.outputs.size(), Datum(Poison{}));
  }
  while (true) {
    bool written = false;
    try {
      written = writer->attempt(
          [&](const Datum& number, LoopState& state) { run_step(node.blocks.at(0), frame, number, state); });
    } catch (...) {
      before.restore();
      throw;
    }
    build_.set_source(source);
    before.restore();
    if (written) return writer->finish();
    writer->discard();
    take_back(said);
  }
}

}  // namespace tenon::converter
