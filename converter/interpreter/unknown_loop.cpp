// A loop whose steps are not known before the model runs.
#include <algorithm>

#include "base/error.h"
#include "converter/interpreter/interpreter.h"
#include "converter/interpreter/regions.h"

namespace tenon::converter {

namespace {

/// An append that not every step of a loop may reach.
bool appends_under_condition(const ts::Block& block, bool is_conditional = false) {
  return std::any_of(block.nodes.begin(), block.nodes.end(), [&](const ts::Node& node) {
    return (is_conditional && node.kind == "aten::append") ||
           std::any_of(node.blocks.begin(), node.blocks.end(), [&](const ts::Block& inner) {
             return appends_under_condition(inner, is_conditional || node.kind == "prim::If");
           });
  });
}

}  // namespace

bool Interpreter::run_known_step(const ts::Node& node, CallFrame& frame, LoopState& state) {
  const ts::Block& body = node.blocks.at(0);
  if (!appends_under_condition(body)) {
    run_step(body, frame, AbstractValue(state.step), state);
    return true;
  }
  objects_.touch_all();
  const Snapshot before(frames_, objects_);
  const Remarks said = remarks();
  const LoopState begun = state;
  ++open_loops_;
  try {
    run_step(body, frame, AbstractValue(state.step), state);
    --open_loops_;
    return true;
  } catch (const ListGrows& e) {
    --open_loops_;
    if (e.length) throw;  // of a list that a loop around this one appends to
  } catch (...) {
    --open_loops_;
    throw;
  }
  before.restore();
  take_back(said);
  state = begun;
  return false;
}

Interpreter::Outputs Interpreter::run_unknown_loop(const ts::Node& node, CallFrame& frame,
                                                   const LoopState& start) {
  const Source source = source_of(node, frame);
  objects_.touch_all();
  const Snapshot before(frames_, objects_);
  const Remarks said = remarks();
  std::optional<LoopWriter> writer;
  try {
    writer.emplace(build_, before, start, source);
  } catch (const Error& e) {
    report_.add("loop", fmt::format("a loop of an unknown number of steps ({})", e.message()), e.hint(),
                source);
    return Outputs(node.outputs.size(), AbstractValue(Poison{}));
  }
  while (true) {
    bool written = false;
    ++open_loops_;
    try {
      written = writer->attempt([&](const AbstractValue& number, LoopState& state) {
        run_step(node.blocks.at(0), frame, number, state);
      });
      --open_loops_;
    } catch (const ListGrows& e) {
      --open_loops_;
      before.restore();
      if (!writer->learns(e)) throw;
    } catch (...) {
      --open_loops_;
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
