#include "converter/interpreter/loop_writer.h"

#include <limits>

#include "base/error.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/regions.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/control.h"
#include "ir/ops/logic.h"

namespace tenon::converter {

namespace {

bool is_bool_datum(const Datum& d) { return d.is<bool>() || d.is<Undecided>(); }
bool is_tensor_variable(const Datum& d) { return d.is_tensor() && !is_python_scalar(d); }
bool is_true(const Datum& d) { return d.is<bool>() && *d.get<bool>(); }

Ref value_of(Builder& build, const Datum& d, const std::string& what) {
  if (is_bool_datum(d)) return condition_value(build, d);
  if (is_python_scalar(d)) return number_value(build, d);
  if (const auto* t = d.get<TensorPtr>()) return build.read(*t);
  throw unsupported("{} changes from step to step of a loop and is {}", what, kind_name(d))
      .hint("carry tensors and numbers");
}

/// The same kind of datum, with another value.
Datum like(Builder& build, const Datum& form, const Ref& value) {
  if (is_bool_datum(form))
    return Datum(undecided("a bool that a loop changes", "truth", {Datum(build.tensor(value))}));
  if (is_python_scalar(form)) return Datum(build.python_number(value));
  return Datum(build.tensor(value, std::nullopt));
}

}  // namespace

LoopWriter::LoopWriter(Builder& builder, const World& before, LoopState start, Source source)
    : build_(builder), before_(before), start_(std::move(start)), source_(std::move(source)) {
  set_limit();
}

// A limit where the number of steps is a size, a part of the condition where it depends on data.
void LoopWriter::set_limit() {
  first_ = condition_value(build_, start_.go_on);
  const auto* trips = start_.trips.get<Dim>();
  if (!trips) {
    count_ = number_value(build_, start_.trips) - static_cast<double>(start_.step);
    const Ref any = count_.literal(0) < count_;
    first_ = is_true(start_.go_on) ? any : logical_and(first_, any);
    return;
  }
  const bool endless = trips->is_known() && trips->value() >= std::numeric_limits<std::int64_t>::max() / 2;
  if (!endless) limit_ = max(*trips - start_.step, Dim(0));
}

LoopWriter::Carried LoopWriter::variable(const std::string& what, std::function<Datum*()> place) {
  Carried c{.place = place, .form = *place()};
  c.initial = value_of(build_, c.form, what);
  c.set = [this, place, form = c.form](Ref value) {
    *place() = like(build_, form, value);
    if (is_tensor_variable(form)) begun_.emplace_back(*place()->get<TensorPtr>(), value.value());
  };
  c.read = [this, place, what] { return value_of(build_, *place(), what); };
  return c;
}

std::vector<LoopWriter::Carried> LoopWriter::carried() {
  std::vector<Carried> all;
  for (const std::size_t i : changing_.variables)
    all.push_back(variable("a variable", [this, i] { return &state_.carried[i]; }));
  for (const auto& key : changing_.slots) {
    ObjectStore& objects = before_.objects();
    all.push_back(variable("the attribute " + objects.slots().at(key).path,
                           [&objects, key] { return &objects.slots().at(key).current; }));
  }
  for (const auto& [list, i] : changing_.items)
    all.push_back(variable("an item of a list", [list = list, i = i] { return &list->items[i]; }));
  for (const auto& buffer : changing_.buffers)
    all.push_back({.initial = build_.content(*buffer),
                   .set = [this, buffer](Ref value) { build_.set_content(*buffer, value.value()); },
                   .read = [this, buffer] { return build_.content(*buffer); }});
  return all;
}

bool LoopWriter::attempt(const Body& body) {
  state_ = start_;
  begun_.clear();
  all_ = carried();
  std::vector<Value*> operands = {first_.value()};
  for (const Carried& c : all_) operands.push_back(c.initial.value());
  Loop op{.carried = static_cast<std::int64_t>(all_.size()), .limit = limit_};
  node_ = build_.region().insert_typed(op, operands, {}, 1, nullptr, source_);
  Region& region = node_->region();
  region.add_parameter({DType::i64, {}});
  for (const Carried& c : all_) region.add_parameter(c.initial.type());

  const Changing assumed = changing_;
  const auto inside = build_.enter(region);
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i].set(build_.ref(region.parameter(i + 1)));
  for (const ListPtr& list : changing_.growing) {
    list->items.clear();
    list->grows = true;
  }
  Ref number = build_.ref(region.parameter(0));
  if (start_.step > 0) number = number + static_cast<double>(start_.step);
  const LoopState began = state_;
  body(Datum(build_.python_number(number)), state_);
  find_changes(began, state_);
  if (!(changing_ == assumed)) return false;
  write_results(all_);
  write_slices();
  return true;
}

void LoopWriter::find_changes(const LoopState& began, const LoopState& ended) {
  const World now = before_.now();
  check_same_views(before_, now);
  const Changing assumed = changing_;
  for (std::size_t i = 0; i < ended.carried.size(); ++i)
    if (!assumed.variables.contains(i) && !is_same_thing(ended.carried[i], began.carried[i]))
      changing_.variables.insert(i);
  for (const auto& [buffer, old] : before_.buffers)
    if (!assumed.buffers.contains(buffer) && !is_same_content(now.buffers.at(buffer), old))
      changing_.buffers.insert(buffer);
  for (const auto& [key, old] : before_.slots)
    if (!assumed.slots.contains(key) && !is_same_thing(now.slots.at(key).current, old.current))
      changing_.slots.insert(key);
  for (const auto& [list, old] : before_.lists) {
    if (assumed.growing.contains(list)) continue;
    const auto& items = now.lists.at(list).items;
    if (items.size() != old.items.size()) {
      changing_.growing.insert(list);
      continue;
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!assumed.items.contains({list, i}) && !is_same_thing(items[i], old.items[i]))
        changing_.items.insert({list, i});
  }
  for (const auto& [dict, old] : before_.dicts) {
    const auto same = [](const auto& p, const auto& q) {
      return is_same_thing(p.first, q.first) && is_same_thing(p.second, q.second);
    };
    if (!std::equal(old.items.begin(), old.items.end(), dict->items.begin(), dict->items.end(), same))
      throw unsupported("a dict that changes in a loop of an unknown number of steps");
  }
}

Ref LoopWriter::go_on() {
  const Ref next = condition_value(build_, state_.go_on);
  if (!count_) return next;
  const Ref more = build_.ref(node_->region().parameter(0)) + 1.0 < count_;
  return is_true(state_.go_on) ? more : logical_and(next, more);
}

void LoopWriter::write_results(std::vector<Carried>& all) {
  for (const auto& [tensor, value] : begun_)
    if (tensor->buffer->value != value)
      throw unsupported("an in-place write to a tensor that a loop of unknown length replaces")
          .hint("call .clone() before the write");
  Region& region = node_->region();
  region.add_result(go_on().value());
  for (Carried& c : all) {
    const Ref value = c.read();
    if (value.type() != c.initial.type())
      throw unsupported("a value is {} before a step of a loop and {} after it", c.initial.type().str(),
                        value.type().str())
          .hint("give it its final type before the loop");
    region.add_result(value.value());
    if (c.place && is_tensor_variable(*c.place())) c.last = (*c.place()->get<TensorPtr>())->buffer;
  }
}

void LoopWriter::write_slices() {
  Region& region = node_->region();
  for (const ListPtr& list : changing_.growing) {
    const auto* item = list->items.size() == 1 ? list->items[0].get<TensorPtr>() : nullptr;
    if (!item || (*item)->is_scalar)
      throw unsupported(
          "a list gets {} in each step of a loop of unknown length",
          list->items.size() == 1 ? kind_name(list->items[0]) : fmt::format("{} items", list->items.size()))
          .hint("append one tensor in each step");
    if (before_.holds((*item)->buffer))
      throw unsupported("a list gets a tensor from outside the loop in each step")
          .hint("append a copy: .clone()");
    if (!limit_ || !is_true(start_.go_on) || !is_true(state_.go_on))
      throw unsupported("a list gets one tensor for each step of a loop whose length depends on data");
    region.add_result(build_.read(*item).value());
  }
}

void LoopWriter::discard() { node_->parent().erase(node_); }

std::vector<Datum> LoopWriter::finish() {
  capture(*node_);
  node_->add_outputs(node_->infer());
  state_ = start_;
  std::map<std::shared_ptr<Buffer>, std::shared_ptr<Buffer>> made;  // by the memory that the last step left
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Ref value = build_.ref(node_->output(i));
    Carried& c = all_[i];
    if (!c.place) {
      c.set(value);
      continue;
    }
    *c.place() = like(build_, c.form, value);
    if (!c.last) continue;
    // PyTorch has one memory where here are two: then neither may be written and the other read.
    const auto& buffer = (*c.place()->get<TensorPtr>())->buffer;
    Builder::share_maybe(buffer, (*c.form.get<TensorPtr>())->buffer);  // without a step it is what it was
    if (before_.holds(c.last)) Builder::share_maybe(buffer, c.last);
    const auto [first, is_new] = made.emplace(c.last, buffer);
    if (!is_new) Builder::share_maybe(buffer, first->second);
  }
  for (const auto& key : changing_.slots) before_.objects().slots().at(key).written = true;
  std::size_t next = all_.size();
  for (const ListPtr& list : changing_.growing)
    list->items.emplace_back(Series{build_.tensor(build_.ref(node_->output(next++)))});
  return state_.carried;
}

}  // namespace tenon::converter
