#include "converter/interpreter/state_lifting.h"

#include <cctype>

#include "base/error.h"
#include "converter/finish.h"
#include "converter/interpreter/branch_merge.h"
#include "converter/interpreter/numbers.h"
#include "ir/clone.h"
#include "ir/ops/control.h"
#include "ir/ops/functions.h"
#include "ir/print.h"

namespace tenon::converter {

namespace {

constexpr int max_trials = 5;

bool is_bool_value(const AbstractValue& d) { return d.is<bool>() || d.is<SymbolicBool>(); }

Type type_of(const AbstractValue& d) {
  if (is_bool_value(d)) return {DType::boolean, {}};
  if (const auto* t = d.get<TensorPtr>()) return (*t)->type;
  return {d.is<double>() ? DType::f64 : DType::i64, {}};
}

bool all_zero(const Value* v) {
  if (!v->is_constant() || !v->tensor().defined() || is_complex(v->dtype())) return false;
  bool zero = true;
  for_each_index(v->tensor().shape(),
                 [&](std::span<const std::int64_t> i) { zero &= v->tensor().get_double(i) == 0; });
  return zero;
}

/// The region's text with values and sizes numbered in the order in which they come.
std::string form_of(const Region& region) {
  const auto graph = region_graph(region);
  finish(*graph);
  const std::string text = print(*graph, {.weights = false, .sources = false});
  std::map<std::string, std::size_t> numbers;
  std::string form;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    if (text[i] == '%' || text[i] == '?')
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
    const std::string word = text.substr(i, end - i);
    form += word.size() == 1
                ? word
                : fmt::format("{}{}", word[0], numbers.try_emplace(word, numbers.size()).first->second);
    i = end;
  }
  return form;
}

}  // namespace

StateLifting::StateLifting(Interpreter& interpreter, const ts::Function& method,
                           std::vector<AbstractValue> arguments)
    : interpreter_(interpreter),
      build_(interpreter.builder()),
      objects_(interpreter.objects()),
      method_(method),
      arguments_(std::move(arguments)) {}

AbstractValue StateLifting::call() { return interpreter_.call(method_, arguments_, ""); }

AbstractValue StateLifting::run() {
  objects_.touch_all();
  const std::array variables = {&arguments_};
  before_.emplace(variables, objects_);
  find_cells();
  const bool conform =
      std::all_of(cells_.begin(), cells_.end(), [&](const StateSlot& c) { return conforms(c, current(c)); });
  add_inputs();
  return conform ? run_after_initial_values() : run_first_or_later();
}

// Calls on trial until a call leaves what it found, up to the values of its inputs.
void StateLifting::find_cells() {
  for (int trial = 0; trial < max_trials; ++trial) {
    std::optional<Snapshot> start;
    const Snapshot after = interpreter_.on_trial(*before_, [&](Region& region) {
      for (const StateSlot& cell : cells_) {
        std::vector<Ref> values;
        for (const Type& type : leaf_types(cell)) values.push_back(build_.ref(region.add_parameter(type)));
        begin(cell, std::move(values));
      }
      start = before_->now();
      call();
    });
    if (!add_changed(*start, after)) return;
  }
  throw unsupported("the attributes of the model take another form in each call");
}

bool StateLifting::add_changed(const Snapshot& start, const Snapshot& after) {
  bool changed = false;
  for (StateSlot& cell : cells_)
    if (!cell.buffer) changed |= update(cell, after.slots.at(cell.slot).current);
  for (const auto& [key, now] : after.slots) {
    const auto known = [&, key = key](const StateSlot& c) { return !c.buffer && c.slot == key; };
    if (objects_.is_created(key.first) || !now.written || !now.read_first ||
        same_attribute(start.slots.at(key).current, now.current) ||
        std::any_of(cells_.begin(), cells_.end(), known))
      continue;
    cells_.push_back({.path = now.path, .slot = key, .form = now.current});
    rebuilt(now.current, [&](const AbstractValue& d) {
      if (d.is_tensor()) cells_.back().shared |= before_->holds((*d.get<TensorPtr>())->buffer);
      return d;
    });
    changed = true;
  }
  for (const auto& [buffer, now] : after.buffers) {
    const auto known = [&, buffer = buffer](const StateSlot& c) { return c.buffer == buffer; };
    if (buffer->state.empty() || is_same_content(start.buffers.at(buffer), now) ||
        std::any_of(cells_.begin(), cells_.end(), known))
      continue;
    auto tensor = std::make_shared<AbstractTensor>();
    tensor->type = buffer->value ? buffer->value->type() : Type{DType::i64, {}};
    cells_.push_back({.path = buffer->state, .buffer = buffer, .form = AbstractValue(tensor)});
    changed = true;
  }
  return changed;
}

// A constant that changed becomes a value; true when the form of the cell is another now.
bool StateLifting::update(StateSlot& cell, const AbstractValue& now) {
  const auto differs = [&](const char* what) {
    return unsupported("the attribute {} {} from call to call", cell.path, what)
        .hint("return the new state as an output and pass it in as an input");
  };
  const auto *was = items_of(cell.form), *is = items_of(now);
  if ((was == nullptr) != (is == nullptr) || (was && was->size() != is->size()))
    throw differs("changes its form");
  bool changed = false;
  std::vector<AbstractValue> old, fresh;
  const auto collect = [](std::vector<AbstractValue>& into) {
    return [&into](const AbstractValue& d) {
      into.push_back(d);
      return d;
    };
  };
  rebuilt(cell.form, collect(old));
  rebuilt(now, collect(fresh));
  if (old.size() != fresh.size()) throw differs("changes its form");
  for (std::size_t i = 0; i < old.size(); ++i) {
    const bool tensors = old[i].is_tensor() && fresh[i].is_tensor();
    if (tensors && type_of(old[i]) != type_of(fresh[i]))
      throw differs(
          fmt::format("changes from {} to {}", type_of(old[i]).str(), type_of(fresh[i]).str()).c_str());
    if (tensors || is_same_thing(old[i], fresh[i])) continue;
    if (!is_python_scalar(old[i]) || !is_python_scalar(fresh[i]) ||
        is_bool_value(old[i]) != is_bool_value(fresh[i]))
      throw differs("changes its form");
    if (cell.numbers_vary) continue;
    cell.numbers_vary = true;
    changed = true;
  }
  return changed;
}

bool StateLifting::is_leaf(const StateSlot& cell, const AbstractValue& d) const {
  return d.is_tensor() || d.is<SymbolicBool>() || (cell.numbers_vary && d.is_number());
}

std::vector<Type> StateLifting::leaf_types(const StateSlot& cell) const {
  std::vector<Type> types;
  rebuilt(cell.form, [&](const AbstractValue& d) {
    if (is_leaf(cell, d)) types.push_back(type_of(d));
    return d;
  });
  return types;
}

// What the file holds can stand where a later call's value stands.
bool StateLifting::conforms(const StateSlot& cell, const AbstractValue& initial) const {
  if (cell.buffer) return true;
  std::vector<AbstractValue> old, fresh;
  rebuilt(cell.form, [&](const AbstractValue& d) { return old.push_back(d), d; });
  rebuilt(initial, [&](const AbstractValue& d) { return fresh.push_back(d), d; });
  if (old.size() != fresh.size()) return false;
  for (std::size_t i = 0; i < old.size(); ++i) {
    const bool leaf = is_leaf(cell, old[i]);
    const bool kinds = old[i].is_tensor() ? fresh[i].is_tensor() || is_python_scalar(fresh[i])
                                          : is_python_scalar(old[i]) == is_python_scalar(fresh[i]);
    if (leaf ? !kinds || type_of(old[i]) != type_of(fresh[i]) : !is_same_thing(old[i], fresh[i]))
      return false;
  }
  return true;
}

AbstractValue StateLifting::current(const StateSlot& cell) const {
  return cell.buffer ? AbstractValue() : objects_.slots().at(cell.slot).current;
}

void StateLifting::begin(const StateSlot& cell, std::vector<Ref> values) {
  if (cell.buffer) return build_.set_content(*cell.buffer, values.at(0).value());
  std::size_t next = 0;
  const auto leaf = [&](const AbstractValue& d) {
    if (!is_leaf(cell, d)) return d;
    const Ref value = values.at(next++);
    if (is_bool_value(d))
      return AbstractValue(
          symbolic_bool("the attribute " + cell.path, "truth", {AbstractValue(build_.tensor(value))}));
    if (is_python_scalar(d)) return AbstractValue(build_.python_number(value));
    const TensorPtr t = build_.tensor(value, std::nullopt);
    if (cell.shared)
      t->buffer->fixed = fmt::format("the attribute {}, which may share its memory", cell.path);
    return AbstractValue(t);
  };
  objects_.slots().at(cell.slot).current = rebuilt(cell.form, leaf, "the attribute " + cell.path);
}

std::vector<Ref> StateLifting::values(const StateSlot& cell, const AbstractValue& now) {
  if (cell.buffer) return {build_.content(*cell.buffer)};
  std::vector<AbstractValue> forms;
  rebuilt(cell.form, [&](const AbstractValue& d) { return forms.push_back(d), d; });
  std::vector<Ref> out;
  std::size_t next = 0;
  rebuilt(now, [&](const AbstractValue& d) {
    if (!is_leaf(cell, forms.at(next++))) return d;
    out.push_back(is_bool_value(d)                        ? condition_value(build_, d)
                  : is_python_scalar(d) || !d.is_tensor() ? number_value(build_, d)
                                                          : build_.read(*d.get<TensorPtr>()));
    return d;
  });
  return out;
}

void StateLifting::add_inputs() {
  Region& body = build_.graph().body();
  for (StateSlot& cell : cells_) {
    const std::vector<Type> types = leaf_types(cell);
    for (std::size_t i = 0; i < types.size(); ++i)
      cell.inputs.push_back(body.add_parameter(
          types[i], "state." + cell.path + (types.size() > 1 ? fmt::format(".{}", i) : "")));
  }
}

// The first call differs from the others in values only.
AbstractValue StateLifting::run_after_initial_values() {
  for (const StateSlot& cell : cells_) {
    std::vector<Ref> start;
    const std::vector<Ref> initial = values(cell, current(cell));
    for (std::size_t i = 0; i < cell.inputs.size(); ++i) {
      const Ref input = build_.ref(cell.inputs[i]);
      if (all_zero(initial[i].value())) {
        start.push_back(input);
        continue;
      }
      if (!started_) started_ = build_.graph().body().add_parameter({DType::boolean, {}}, "state.started");
      start.push_back(where(build_.ref(started_), input, initial[i]));
    }
    begin(cell, std::move(start));
  }
  return call();
}

AbstractValue StateLifting::run_first_or_later() {
  Region& body = build_.graph().body();
  started_ = body.add_parameter({DType::boolean, {}}, "state.started");
  Node* made = body.insert_typed(If{}, {started_}, {}, 2);
  std::vector<AbstractValue> results(2);
  std::vector<Snapshot> after;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto inside = build_.enter(made->region(k));
    if (k == 0)
      for (const StateSlot& cell : cells_) {
        std::vector<Ref> inputs;
        for (Value* v : cell.inputs) inputs.push_back(build_.ref(v));
        begin(cell, std::move(inputs));
      }
    results[k] = call();
    after.push_back(before_->now());
    before_->restore();
  }
  BranchMerge merge(build_, *made, *before_, {&after[0], &after[1]}, "whether it is the first call");
  const AbstractValue result = merge.value(results[0], results[1]);
  merge.finish();
  const auto has_inputs = [](const StateSlot& c) { return !c.inputs.empty(); };
  computes_the_same_ = !merge.is_divergent() && std::none_of(cells_.begin(), cells_.end(), has_inputs) &&
                       form_of(made->region(0)) == form_of(made->region(1));
  return result;
}

void StateLifting::add_results() {
  Graph& graph = build_.graph();
  for (const StateSlot& cell : cells_) {
    const std::vector<Ref> next = values(cell, current(cell));
    for (std::size_t i = 0; i < cell.inputs.size(); ++i) {
      graph.body().add_result(next.at(i).value());
      graph.output_names.push_back(cell.inputs[i]->name());
    }
  }
  if (!started_) return;
  graph.body().add_result(build_.literal(std::int64_t{1}, DType::boolean).value());
  graph.output_names.push_back(started_->name());
}

}  // namespace tenon::converter
