#include "converter/interpreter/interpreter.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.h"
#include "base/named_error.h"
#include "converter/aten/quantized.h"
#include "converter/custom.h"
#include "converter/interpreter/branch_merge.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/scalars.h"
#include "converter/interpreter/stacked_list.h"

namespace tenon::converter {

namespace {

constexpr std::int64_t max_steps = 100'000;
constexpr std::int64_t max_operations = 5'000'000;  // in all steps and calls
constexpr int max_depth = 500;

bool equals_default(const AbstractValue& value, const ts::IValue& given) {
  if (std::holds_alternative<ts::None>(given)) return value.is_none();
  if (const auto* flag = std::get_if<bool>(&given)) return value.is<bool>() && *value.get<bool>() == *flag;
  if (const auto* i = std::get_if<std::int64_t>(&given)) {
    const auto* dim = value.get<Dim>();
    const auto* real = value.get<double>();
    return (dim && *dim == Dim(*i)) || (real && *real == static_cast<double>(*i));
  }
  if (const auto* x = std::get_if<double>(&given)) return value.is<double>() && *value.get<double>() == *x;
  if (const auto* s = std::get_if<std::string>(&given))
    return value.is<std::string>() && *value.get<std::string>() == *s;
  if (const auto* list = std::get_if<const ts::List*>(&given)) {
    const auto* items = items_of(value);
    if (!items || items->size() != (*list)->items.size()) return false;
    for (std::size_t i = 0; i < items->size(); ++i)
      if (!equals_default((*items)[i], (*list)->items[i])) return false;
    return true;
  }
  return false;
}

/// The name by which the tables have an operator: "relu", "quantized::linear".
std::string_view without_namespace(std::string_view kind) {
  if (kind.starts_with("quantized::")) return kind;
  const std::size_t colons = kind.find("::");
  return colons == std::string_view::npos ? kind : kind.substr(colons + 2);
}

/// PyTorch's own shape functions of these name sizes that their results do not have. Of recurrent layers they
/// are those of PyTorch 2.9 to 2.12: the states of a batch that varies have an axis too many.
bool has_wrong_declared_types(std::string_view kind) {
  constexpr std::array kinds = {"aten::unique_dim", "aten::unique_consecutive", "aten::lstm",
                                "aten::gru",        "aten::rnn_tanh",           "aten::rnn_relu"};
  return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
}

std::string operator_name(const ts::Node& node) {
  std::string out(node.kind);
  if (node.schema && !node.schema->overload.empty()) out += "." + std::string(node.schema->overload);
  return out;
}

/// PyTorch's operators on tensors, also quantised ones, and torchvision's.
bool is_tensor_operator(std::string_view kind) {
  constexpr std::array spaces = {"aten::", "torchvision::", "torch_nn::", "quantized::"};
  return std::any_of(spaces.begin(), spaces.end(),
                     [&](const char* space) { return kind.starts_with(space); });
}

/// An operator that neither PyTorch nor torchvision brings: "mylib::myop".
bool is_custom(const ts::Node& node) {
  const bool is_built_in = node.kind.starts_with("prim::") || node.kind.starts_with("higher_order::");
  return node.kind.find("::") != std::string_view::npos && !is_built_in && !is_tensor_operator(node.kind);
}

/// False when no value of its inputs would help.
bool is_implemented(const ts::Node& node) {
  if (is_custom(node)) return find_library_operator(operator_name(node));
  if (!is_tensor_operator(node.kind)) return true;
  const std::string_view name = without_namespace(node.kind);
  const std::string_view overload = node.schema ? node.schema->overload : std::string_view();
  return is_scalar_function(name, overload) || is_container_function(name) ||
         is_aten_implemented(name, overload);
}

}  // namespace

Source Interpreter::source_of(const ts::Node& node, const CallFrame& frame) const {
  Source out;
  const std::string path = node.source.module.empty() ? frame.path : std::string(node.source.module);
  if (!path.empty()) out.modules.push_back(path);
  if (node.source.line > 0) {
    out.file = std::filesystem::path(node.source.file).filename().string();
    out.line = node.source.line;
  } else if (!callers_.empty()) {
    out.file = callers_.back().first;
    out.line = callers_.back().second;
  }
  return out;
}

std::vector<AbstractValue> Interpreter::inputs_of(const ts::Node& node, const CallFrame& frame) const {
  std::vector<AbstractValue> out;
  out.reserve(node.inputs.size());
  for (ts::ValueId id : node.inputs) out.push_back(frame.values.at(id));
  return out;
}

void Interpreter::note(ConvertNote::Kind kind, std::string text) {
  const ConvertNote n{kind, std::move(text)};
  if (std::find(notes_.begin(), notes_.end(), n) == notes_.end()) notes_.push_back(n);
}

void Interpreter::note_training_mode() {
  const auto& modules = program_.modules_in_training_mode;
  const bool whole = modules.empty() || modules.front().empty();
  note(ConvertNote::Kind::training,
       fmt::format("{} saved in training mode and {} converted in eval mode, as after model.eval()",
                   whole ? "the model was" : fmt::format("{} were", fmt::join(modules, ", ")),
                   whole ? "is" : "are"));
}

void Interpreter::count_step() {
  if (++steps_ > max_steps)
    throw unsupported("more than {} loop steps", max_steps)
        .hint("use tensor operators instead of a Python loop");
}

AbstractValue Interpreter::call(const ts::Function& function, std::vector<AbstractValue> arguments,
                                const std::string& path) {
  if (depth_ >= max_depth) throw unsupported("more than {} calls inside each other", max_depth);
  if (arguments.size() != function.body.inputs.size())
    throw error("{} called with {} arguments instead of {}", function.name, arguments.size(),
                function.body.inputs.size());
  CallFrame frame{
      function, path, std::vector<AbstractValue>(function.values.size(), AbstractValue(Uninitialized{})), {}};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    frame.values.at(function.body.inputs[i]) = std::move(arguments[i]);
  ++depth_;
  frames_.push_back(&frame.values);
  try {
    run_block(function.body, frame);
  } catch (...) {
    --depth_;
    frames_.pop_back();
    throw;
  }
  --depth_;
  frames_.pop_back();
  if (function.body.outputs.empty()) return {};
  return frame.values.at(function.body.outputs[0]);
}

void Interpreter::run_block(const ts::Block& block, CallFrame& frame) {
  for (const ts::Node& node : block.nodes) run_node(node, frame);
}

void Interpreter::run_node(const ts::Node& node, CallFrame& frame) {
  if (++operations_ > max_operations)
    throw unsupported("more than {} operations in its loops and calls", max_operations)
        .hint("use tensor operators instead of Python loops");
  here_ = source_of(node, frame);
  build_.set_source(here_);
  const bool unforeseen = reads_unforeseen(node, frame);
  const TensorPtr written = written_by(node, frame);
  const Type before = written ? written->type : Type();
  Outputs outputs;
  try {
    outputs = evaluate(node, frame);
  } catch (const ModelRaised&) { throw; } catch (const Error& e) {
    if (open_loops_ > 0 && dynamic_cast<const ListGrows*>(&e)) throw;
    report(node, frame, e);
    poison_written(node, inputs_of(node, frame));
    outputs.assign(node.outputs.size(), AbstractValue(Poison{}));
  }
  if (outputs.size() < node.outputs.size()) outputs.resize(node.outputs.size());
  if (written && written->type != before) reshaped_.insert(written);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (unforeseen || !matches_declared_type(node, i, outputs[i], frame))
      frame.unforeseen.insert(node.outputs[i]);
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    frame.values.at(node.outputs[i]) = std::move(outputs[i]);
}

/// In eval mode dropout hands its operand back: one tensor of two names. When squeeze_ changes it by the one
/// name, the exporter, which takes them for two tensors, has the old type for the other, and for what is
/// computed from that.
bool Interpreter::reads_unforeseen(const ts::Node& node, const CallFrame& frame) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ts::ValueId id) {
    if (frame.unforeseen.contains(id)) return true;
    const auto* tensor = frame.values.at(id).get<TensorPtr>();
    const ts::Type* type = frame.function.values.at(id).type;
    return tensor && reshaped_.contains(*tensor) && type && type->declared_sizes &&
           declared_types_.difference((*tensor)->type, *type, build_.graph());
  });
}

/// The tensor that an operator writes in place: its first argument.
TensorPtr Interpreter::written_by(const ts::Node& node, const CallFrame& frame) {
  if (!node.schema || node.inputs.empty() || node.schema->arguments.empty()) return nullptr;
  if (!node.schema->arguments.front().is_written) return nullptr;
  const auto* tensor = frame.values.at(node.inputs[0]).get<TensorPtr>();
  return tensor ? *tensor : nullptr;
}

/// An exported program says what type each value has: ours must be the same, unless PyTorch's is wrong.
bool Interpreter::matches_declared_type(const ts::Node& node, std::size_t i, const AbstractValue& d,
                                        const CallFrame& frame) {
  const ts::Type* type = frame.function.values.at(node.outputs[i]).type;
  const auto* tensor = d.get<TensorPtr>();
  if (!tensor || !type || !type->declared_sizes || (*tensor)->buffer->poisoned) return true;
  const auto difference = declared_types_.difference((*tensor)->type, *type, build_.graph());
  if (!difference) return true;
  if (has_wrong_declared_types(node.kind)) return false;
  throw Error(fmt::format("{}: {}", operator_name(node), *difference))
      .at(source_of(node, frame).str())
      .hint("this is a mistake in Tenon: please report it, with the model if you can");
}

void Interpreter::report(const ts::Node& node, const CallFrame& frame, const Error& e) {
  const Source where = source_of(node, frame);
  if (e.code() == Exit::unsupported) {
    if (is_implemented(node))
      report_.add(operator_name(node), e.message(), e.hint(), where);
    else
      report_.add_operator(operator_name(node), e.message(), where);
    return;
  }
  if (failed_) throw e;
  failed_ = true;
  throw named(operator_name(node), e).at(where.str());
}

/// What an operator would have written is no longer known.
void Interpreter::poison_written(const ts::Node& node, const std::vector<AbstractValue>& inputs) {
  if (!node.schema) return;
  for (std::size_t i = 0; i < std::min(inputs.size(), node.schema->arguments.size()); ++i) {
    if (!node.schema->arguments[i].is_written) continue;
    if (const auto* t = inputs[i].get<TensorPtr>()) build_.poison(*t);
  }
}

Interpreter::Outputs Interpreter::evaluate(const ts::Node& node, CallFrame& frame) {
  if (node.kind.starts_with("prim::")) return evaluate_prim(node, frame);
  return evaluate_operator(node, inputs_of(node, frame));
}

namespace {

/// An overload on Python numbers and bools alone: mul.float(float a, float b).
bool takes_python_scalars(const ts::Node& node) {
  using Kind = ts::Type::Kind;
  if (!node.schema || node.schema->arguments.empty()) return false;
  return std::all_of(node.schema->arguments.begin(), node.schema->arguments.end(), [](const ts::Argument& a) {
    const Kind kind = a.type->kind;
    return kind == Kind::integer || kind == Kind::real || kind == Kind::boolean || kind == Kind::number;
  });
}

/// A function of several results gives them as a tuple.
std::vector<AbstractValue> results_of(const ts::Node& node, AbstractValue result) {
  if (const auto* tuple = result.get<TuplePtr>(); tuple && node.outputs.size() > 1) return (*tuple)->items;
  return {std::move(result)};
}

}  // namespace

Interpreter::Outputs Interpreter::evaluate_operator(const ts::Node& node,
                                                    const std::vector<AbstractValue>& inputs) {
  const std::string_view name = without_namespace(node.kind);
  const std::string_view overload = node.schema ? node.schema->overload : std::string_view();
  if (const auto* u = std::get_if<ts::Unsupported>(&node.constant)) throw unsupported("{}", u->what);
  if (!is_implemented(node) && is_custom(node)) throw unsupported("a custom operator");
  for (const AbstractValue& d : inputs)
    if (d.is<DivergentValue>()) throw unsupported("{}", kind_name(d));
  if (name == "__getitem__") {
    if (auto result = run_on_stacked_list(build_, name, inputs)) return {std::move(*result)};
  }
  const bool is_repeated = name == "mul" && inputs.size() == 2 && items_of(inputs[1]);
  if (!inputs.empty() && is_quantized(inputs[0]) && std::none_of(inputs.begin(), inputs.end(), is_poisoned))
    return run_tensor_operator(node, name, overload, inputs);
  const bool known_container = inputs.empty() || is_repeated || items_of(inputs[0]) ||
                               inputs[0].is<DictPtr>() || inputs[0].is<std::string>();
  const bool has_poison =
      std::any_of(inputs.begin(), inputs.end(), [](const AbstractValue& d) { return d.is<Poison>(); });
  const bool takes_anything = name == "append" || name == "insert" || name == "_set_item";
  if (known_container && (!has_poison || takes_anything)) {
    if (auto length = length_while_growing(build_, objects_, name, inputs)) return {std::move(*length)};
    if (auto result = run_unknown_list(build_, name, inputs)) return {std::move(*result)};
    if (auto result = run_container(name, inputs)) return results_of(node, std::move(*result));
  }
  if (std::any_of(inputs.begin(), inputs.end(), is_poisoned)) {
    if (!is_implemented(node)) throw unsupported("the operator is not implemented");
    poison_written(node, inputs);
    return Outputs(node.outputs.size(), AbstractValue(Poison{}));
  }
  if (const LibraryOperator* custom = find_library_operator(operator_name(node))) {
    note(ConvertNote::Kind::custom,
         fmt::format("{} is computed by {} on both sides: verifying does not check it", custom->name,
                     custom->library.filename().string()));
    return run_library_operator(build_, *custom, inputs);
  }
  const bool on_any_value = name == "__is__" || name == "__isnot__" || name == "format" || name == "warn";
  if (on_any_value || !std::any_of(inputs.begin(), inputs.end(), holds_tensor)) {
    if (auto result = run_scalar(name, overload, inputs)) return results_of(node, std::move(*result));
  }
  if (takes_python_scalars(node) && std::all_of(inputs.begin(), inputs.end(), is_python_scalar)) {
    if (auto result = run_unknown_scalar(build_, name, overload, inputs))
      return results_of(node, std::move(*result));
  }
  if (auto result = run_on_stacked_list(build_, name, inputs)) return {std::move(*result)};
  return run_tensor_operator(node, name, overload, inputs);
}

Interpreter::Outputs Interpreter::run_tensor_operator(const ts::Node& node, std::string_view name,
                                                      std::string_view overload,
                                                      const std::vector<AbstractValue>& inputs) {
  if (!node.schema) throw unsupported("an operator without a signature");
  note_baked_sizes(node, name, inputs);
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < inputs.size() && i < node.schema->arguments.size(); ++i) {
    const ts::Argument& a = node.schema->arguments[i];
    const bool is_default = a.default_value && equals_default(inputs[i], *a.default_value);
    arguments.push_back({std::string(a.name), inputs[i], is_default});
  }
  return run_aten(build_, name, overload, std::move(arguments));
}

/// A size of the trace may stand in the file as a plain number: that cannot be known, only noted.
void Interpreter::note_baked_sizes(const ts::Node& node, std::string_view name,
                                   const std::vector<AbstractValue>& inputs) {
  if (watched_.empty()) return;
  for (std::size_t i = 0; i < inputs.size() && i < node.schema->arguments.size(); ++i) {
    const std::string_view argument = node.schema->arguments[i].name;
    if (argument != "size" && argument != "shape" && argument != "sizes" && argument != "end" &&
        argument != "length")
      continue;
    const auto* items = items_of(inputs[i]);
    for (const AbstractValue& d : items ? *items : std::vector<AbstractValue>{inputs[i]}) {
      const auto* dim = d.get<Dim>();
      const auto watched = dim && dim->is_known() ? watched_.find(dim->value()) : watched_.end();
      if (watched == watched_.end()) continue;
      if (!baked_.insert(fmt::format("{} {} {}", name, argument, watched->first)).second) continue;
      note(ConvertNote::Kind::baked_size,
           fmt::format("{} has the number {} for its {}, which was {} in the trace; if it is that size, it "
                       "is fixed ({})",
                       name, watched->first, argument, watched->second, here_.str()));
    }
  }
}

/// What depends on something unsupported cannot run, but what it lacks itself belongs into the report.
Interpreter::Outputs Interpreter::skip(const ts::Node& node, const CallFrame& frame) {
  for (const ts::Block& block : node.blocks)
    for (const ts::Node& inner : block.nodes) {
      if (!is_implemented(inner))
        report_.add_operator(operator_name(inner), "the operator is not implemented",
                             source_of(inner, frame));
      skip(inner, frame);
    }
  return Outputs(node.outputs.size(), AbstractValue(Poison{}));
}

Interpreter::Outputs Interpreter::run_if(const ts::Node& node, CallFrame& frame) {
  const AbstractValue condition = frame.values.at(node.inputs.at(0));
  if (condition.is<Poison>()) return skip(node, frame);
  if (const auto* flag = condition.get<bool>()) return run_branch(node.blocks.at(*flag ? 0 : 1), frame);
  return run_unknown_if(node, frame, condition);
}

Interpreter::Outputs Interpreter::run_branch(const ts::Block& block, CallFrame& frame) {
  run_block(block, frame);
  Outputs out;
  for (ts::ValueId id : block.outputs) out.push_back(frame.values.at(id));
  return out;
}

Interpreter::Outputs Interpreter::run_loop(const ts::Node& node, CallFrame& frame) {
  const std::vector<AbstractValue> inputs = inputs_of(node, frame);
  LoopState state{
      .trips = inputs[0], .go_on = inputs[1], .carried = Outputs(inputs.begin() + 2, inputs.end())};
  if (state.trips.is<Poison>()) return skip(node, frame);
  const auto* trips = state.trips.get<Dim>();
  if (!trips || !trips->is_known()) return run_unknown_loop(node, frame, state);
  for (; state.step < trips->value(); ++state.step) {
    if (state.go_on.is<Poison>()) return skip(node, frame);
    const auto* flag = state.go_on.get<bool>();
    if (!flag) return run_unknown_loop(node, frame, state);
    if (!*flag) break;
    count_step();
    if (!run_known_step(node, frame, state)) return run_unknown_loop(node, frame, state);
  }
  return state.carried;
}

void Interpreter::run_step(const ts::Block& body, CallFrame& frame, const AbstractValue& step,
                           LoopState& state) {
  frame.values.at(body.inputs.at(0)) = step;
  for (std::size_t c = 0; c < state.carried.size(); ++c)
    frame.values.at(body.inputs.at(c + 1)) = state.carried[c];
  run_block(body, frame);
  state.go_on = frame.values.at(body.outputs.at(0));
  for (std::size_t c = 0; c < state.carried.size(); ++c)
    state.carried[c] = frame.values.at(body.outputs.at(c + 1));
}

}  // namespace tenon::converter
