#include "converter/interpreter/loop_writer.h"

#include <algorithm>
#include <limits>

#include "base/count.h"
#include "base/error.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/regions.h"
#include "converter/interpreter/stacked_list.h"
#include "ir/ops/control.h"
#include "ir/ops/data_size.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

bool is_bool_value(const AbstractValue& d) { return d.is<bool>() || d.is<SymbolicBool>(); }
bool is_tensor_variable(const AbstractValue& d) { return d.is_tensor() && !is_python_scalar(d); }
bool is_known_true(const AbstractValue& d) { return d.is<bool>() && *d.get<bool>(); }

Ref value_of(Builder& build, const AbstractValue& d, const std::string& what) {
  if (is_bool_value(d)) return condition_value(build, d);
  if (is_python_scalar(d)) return number_value(build, d);
  if (const auto* t = d.get<TensorPtr>()) return build.read(*t);
  throw unsupported("{} changes from step to step of a loop and is {}", what, kind_name(d))
      .hint("carry tensors and numbers");
}

/// The same kind of value, with another value.
AbstractValue like(Builder& build, const AbstractValue& form, const Ref& value) {
  if (is_bool_value(form))
    return AbstractValue(
        symbolic_bool("a bool that a loop changes", "truth", {AbstractValue(build.tensor(value))}));
  if (is_python_scalar(form)) return AbstractValue(build.python_number(value));
  return AbstractValue(build.tensor(value, std::nullopt));
}

std::string key_of_variable(std::size_t i) { return fmt::format("variable {}", i); }
std::string key_of_item(const void* container, std::size_t i) {
  return fmt::format("item {} of {}", i, container);
}
std::string inner_key(const std::string& key, std::size_t i) { return fmt::format("{}.{}", key, i); }

/// An item of a list or tuple. That of a tuple is written in copies alone (own).
AbstractValue& item_of(const AbstractValue& d, std::size_t i) {
  return const_cast<AbstractValue&>(items_of(d)->at(i));
}

/// "a list of 2 items".
std::string form_name(const AbstractValue& d) {
  const auto* items = items_of(d);
  return items ? fmt::format("{} of {}", kind_name(d), counted(items->size(), "item")) : kind_name(d);
}

}  // namespace

LoopWriter::LoopWriter(Builder& builder, const Snapshot& before, LoopState start, Source source)
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
    first_ = is_known_true(start_.go_on) ? any : logical_and(first_, any);
    return;
  }
  const bool endless = trips->is_known() && trips->value() >= std::numeric_limits<std::int64_t>::max() / 2;
  if (!endless) limit_ = max(*trips - start_.step, Dim(0));
}

LoopWriter::Carried LoopWriter::variable(std::string key, const std::string& what, Locator place) {
  Carried c{.key = std::move(key), .place = place, .form = *place()};
  c.initial = value_of(build_, c.form, what);
  c.set = [this, place, form = c.form](Ref value) {
    *place() = like(build_, form, value);
    if (is_tensor_variable(form)) begun_.emplace_back(*place()->get<TensorPtr>(), value.value());
  };
  c.read = [this, place, what] { return value_of(build_, *place(), what); };
  return c;
}

void LoopWriter::add(std::vector<Carried>& all, const std::string& key, const std::string& what,
                     const Locator& place) {
  if (!items_of(*place())) return all.push_back(variable(key, what, place));
  structures_.push_back({key, place, AbstractValue()});
  add_items(all, key, what, place);
}

void LoopWriter::add_items(std::vector<Carried>& all, const std::string& key, const std::string& what,
                           const Locator& place) {
  if (place()->is<ListPtr>() && !changing_.replaced.contains(key)) return;
  for (std::size_t i = 0; i < items_of(*place())->size(); ++i) {
    const Locator item = [place, i] { return &item_of(*place(), i); };
    const std::string inner = inner_key(key, i);
    if (items_of(*item()))
      add_items(all, inner, what, item);
    else if (changing_.leaves.contains(inner))
      all.push_back(variable(inner, what, item));
  }
}

LoopWriter::Carried LoopWriter::count_of(const ListPtr& list) {
  const List& before = before_.lists.at(list);
  if (before.grows) throw unsupported("the length of a list that two loops append to");
  Dim count = std::ssize(before.items);
  if (const StackedList* stacked = before.stacked_list()) count = count - 1 + stacked->stack->shape()[0];
  return {.key = {},
          .initial = build_.size(count),
          .set =
              [this, list](Ref value) {
                before_.objects().lengths()[list] = AbstractValue(build_.python_number(value));
              },
          .read =
              [this, list] {
                const std::array arguments = {AbstractValue(list)};
                return number_value(build_,
                                    *length_while_growing(build_, before_.objects(), "len", arguments));
              }};
}

std::string LoopWriter::key_of(const ObjectStore::AttributeSlots::key_type& slot) const {
  return "the attribute " + before_.objects().slots().at(slot).path;
}

std::vector<LoopWriter::Carried> LoopWriter::carried() {
  std::vector<Carried> all;
  structures_.clear();
  for (const std::size_t i : changing_.variables)
    add(all, key_of_variable(i), "a variable", [this, i] { return &state_.carried[i]; });
  for (const auto& key : changing_.slots)
    add(all, key_of(key), key_of(key),
        [&objects = before_.objects(), key] { return &objects.slots().at(key).current; });
  for (const auto& [list, i] : changing_.items)
    add(all, key_of_item(list.get(), i), "an item of a list",
        [list = list, i = i] { return &list->items[i]; });
  for (const auto& [dict, i] : changing_.values)
    add(all, key_of_item(dict.get(), i), "a value of a dict",
        [dict = dict, i = i] { return &dict->items[i].second; });
  for (const ListPtr& list : changing_.counted) all.push_back(count_of(list));
  for (const auto& buffer : changing_.buffers)
    all.push_back({.key = {},
                   .initial = build_.content(*buffer),
                   .set = [this, buffer](Ref value) { build_.set_content(*buffer, value.value()); },
                   .read = [this, buffer] { return build_.content(*buffer); }});
  return all;
}

void LoopWriter::begin_structures() {
  for (Structure& s : structures_) s.begun = *s.place() = own(s.key, *s.place());
  for (const ListPtr& list : changing_.fixed) list->fixed = "a list that a loop replaces";
}

/// The tuples and lists of a place as it alone has them: leaves stand in them. A list that stays the same one
/// is none of these.
AbstractValue LoopWriter::own(const std::string& key, const AbstractValue& d) const {
  const auto* items = items_of(d);
  if (!items || (d.is<ListPtr>() && !changing_.replaced.contains(key))) return d;
  std::vector<AbstractValue> copies;
  for (std::size_t i = 0; i < items->size(); ++i) copies.push_back(own(inner_key(key, i), (*items)[i]));
  if (d.is<ListPtr>()) {
    const AbstractValue list = list_of(std::move(copies));
    (*list.get<ListPtr>())->fixed = "a list that a loop replaces";
    return list;
  }
  auto tuple = std::make_shared<Tuple>(**d.get<TuplePtr>());
  tuple->items = std::move(copies);
  return AbstractValue(TuplePtr(tuple));
}

/// What differs in two structures of one form.
void LoopWriter::find_leaves(const std::string& key, const AbstractValue& before,
                             const AbstractValue& after) {
  const auto *x = items_of(before), *y = items_of(after);
  const auto *was = before.get<ListPtr>(), *is = after.get<ListPtr>();
  if (was && is) {
    if (*was == *is) return;
    changing_.replaced.insert(key);
    for (const ListPtr& list : {*was, *is})
      if (before_.lists.contains(list)) changing_.fixed.insert(list);
  }
  if (x && y && before.is<TuplePtr>() == after.is<TuplePtr>() && x->size() == y->size()) {
    for (std::size_t i = 0; i < x->size(); ++i) find_leaves(inner_key(key, i), (*x)[i], (*y)[i]);
  } else if (x || y) {
    throw unsupported("a loop of an unknown number of steps changes {} to {}", form_name(before),
                      form_name(after))
        .hint("keep the number of items, or append to one list");
  } else if (!is_same_thing(before, after)) {
    changing_.leaves.insert(key);
  }
}

/// What is carried, before the loop, before a step and after it.
std::vector<StepSizes::Carried> LoopWriter::carried_sizes(const std::vector<Ref>& results) const {
  std::vector<StepSizes::Carried> values;
  for (std::size_t i = 0; i < all_.size(); ++i)
    values.push_back({all_[i].key, all_[i].initial.shape(), node_->region().parameter(i + 1)->shape(),
                      results.empty() ? Shape() : results[i].shape()});
  return values;
}

bool LoopWriter::attempt(const Body& body) {
  state_ = start_;
  begun_.clear();
  changing_.sizes.begin();
  all_ = carried();
  std::vector<Value*> operands = {first_.value()};
  for (const Carried& c : all_) operands.push_back(c.initial.value());
  Loop op{.carried = static_cast<std::int64_t>(all_.size()), .limit = limit_};
  node_ = build_.region().insert_typed(op, operands, {}, 1, nullptr, source_);
  Region& region = node_->region();
  region.add_parameter({DType::i64, {}});
  for (const Carried& c : all_)
    region.add_parameter(changing_.sizes.before_step(build_, c.key, c.initial.type()));

  const Changing assumed = changing_;
  const auto inside = build_.enter(region);
  begin_structures();
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i].set(build_.ref(region.parameter(i + 1)));
  share(all_);
  for (const ListPtr& list : changing_.growing) {
    list->items.clear();
    list->grows = true;
  }
  Ref number = build_.ref(region.parameter(0));
  if (start_.step > 0) number = number + static_cast<double>(start_.step);
  const LoopState began = state_;
  body(AbstractValue(build_.python_number(number)), state_);
  find_changes(began, state_);
  if (!(changing_ == assumed) || !write_results(all_) || !(changing_ == assumed)) return false;
  write_slices();
  return true;
}

void LoopWriter::find_changes(const LoopState& began, const LoopState& ended) {
  const Snapshot now = before_.now();
  check_same_views(before_, now);
  const Changing assumed = changing_;
  for (const Structure& s : structures_) find_leaves(s.key, s.begun, *s.place());
  const auto find_in = [this](const std::string& key, const AbstractValue& was, const AbstractValue& is) {
    if (items_of(was)) find_leaves(key, was, is);
  };
  for (std::size_t i = 0; i < ended.carried.size(); ++i) {
    if (assumed.variables.contains(i) || is_same_thing(ended.carried[i], began.carried[i])) continue;
    changing_.variables.insert(i);
    find_in(key_of_variable(i), began.carried[i], ended.carried[i]);
  }
  for (const auto& [buffer, old] : before_.buffers)
    if (!assumed.buffers.contains(buffer) && !is_same_content(now.buffers.at(buffer), old))
      changing_.buffers.insert(buffer);
  for (const auto& [key, old] : before_.slots)
    if (!assumed.slots.contains(key) && !is_same_thing(now.slots.at(key).current, old.current)) {
      changing_.slots.insert(key);
      find_in(key_of(key), old.current, now.slots.at(key).current);
    }
  for (const auto& [list, old] : before_.lists) {
    if (old.fixed.empty() && !now.lists.at(list).fixed.empty()) changing_.fixed.insert(list);
    if (assumed.growing.contains(list)) continue;
    const auto& items = now.lists.at(list).items;
    if (items.size() != old.items.size()) {
      changing_.growing.insert(list);
      continue;
    }
    for (std::size_t i = 0; i < items.size(); ++i)
      if (!assumed.items.contains({list, i}) && !is_same_thing(items[i], old.items[i])) {
        changing_.items.insert({list, i});
        find_in(key_of_item(list.get(), i), old.items[i], items[i]);
      }
  }
  for (const auto& [dict, old] : before_.dicts) {
    const auto same_key = [](const auto& p, const auto& q) { return is_same_thing(p.first, q.first); };
    if (!std::equal(old.items.begin(), old.items.end(), dict->items.begin(), dict->items.end(), same_key))
      throw unsupported("a dict that gets other keys in a loop of an unknown number of steps");
    for (std::size_t i = 0; i < old.items.size(); ++i) {
      const AbstractValue &was = old.items[i].second, &is = dict->items[i].second;
      if (assumed.values.contains({dict, i}) || is_same_thing(was, is)) continue;
      changing_.values.insert({dict, i});
      find_in(key_of_item(dict.get(), i), was, is);
    }
  }
}

Ref LoopWriter::go_on() {
  const Ref next = condition_value(build_, state_.go_on);
  if (!count_) return next;
  const Ref more = build_.ref(node_->region().parameter(0)) + 1.0 < count_;
  return is_known_true(state_.go_on) ? more : logical_and(next, more);
}

bool LoopWriter::write_results(std::vector<Carried>& all) {
  for (const auto& [tensor, value] : begun_)
    if (tensor->buffer->value != value)
      throw unsupported("an in-place write to a tensor that a loop of unknown length replaces")
          .hint("call .clone() before the write");
  Region& region = node_->region();
  region.add_result(go_on().value());
  std::vector<Ref> results;
  for (Carried& c : all) {
    const Ref value = c.read();
    const bool may_change =
        !c.key.empty() && value.dtype() == c.initial.dtype() && value.rank() == c.initial.rank();
    if (!may_change && value.type() != c.initial.type())
      throw unsupported("a value is {} before a step of a loop and {} after it", c.initial.type().str(),
                        value.type().str())
          .hint("give it its final type before the loop");
    region.add_result(value.value());
    results.push_back(value);
    if (c.place && is_tensor_variable(*c.place())) c.last = *c.place()->get<TensorPtr>();
  }
  find_shared(all);
  return !changing_.sizes.learn(carried_sizes(results));
}

/// Where PyTorch has one memory, each variable has its own: then neither may be written and the other read.
/// This finds what a step leaves with one memory.
void LoopWriter::find_shared(const std::vector<Carried>& all) {
  std::map<std::shared_ptr<Buffer>, std::vector<std::string>> keys;
  for (const Carried& c : all) {
    if (!c.last) continue;
    if (Builder::repeats(*c.last) || !c.last->buffer->fixed.empty()) changing_.repeating.insert(c.key);
    for (const auto& memory : Builder::memory_of(c.last->buffer)) {
      if (before_.holds(memory)) changing_.shared.emplace(c.key, memory);
      for (const std::string& other : keys[memory]) changing_.alike.emplace(other, c.key);
      keys[memory].push_back(c.key);
    }
  }
}

/// For variables that stand before a step, or behind the loop: where there was no step, they have the memory
/// that they had before it.
void LoopWriter::share(const std::vector<Carried>& all) const {
  std::map<std::string, std::shared_ptr<Buffer>> buffers;
  for (const Carried& c : all) {
    if (!c.place || !is_tensor_variable(c.form)) continue;
    const auto& buffer = buffers[c.key] = (*c.place()->get<TensorPtr>())->buffer;
    const AbstractTensor& first = **c.form.get<TensorPtr>();
    if (Builder::repeats(first) || !first.buffer->fixed.empty() || changing_.repeating.contains(c.key))
      buffer->fixed = "a tensor whose elements may share memory";
    for (const auto& memory : Builder::memory_of(first.buffer)) Builder::share_maybe(buffer, memory);
  }
  for (const auto& [key, memory] : changing_.shared)
    if (const auto at = buffers.find(key); at != buffers.end())
      for (const auto& other : Builder::memory_of(memory)) Builder::share_maybe(at->second, other);
  for (const auto& [a, b] : changing_.alike)
    if (buffers.contains(a) && buffers.contains(b)) Builder::share_maybe(buffers.at(a), buffers.at(b));
}

void LoopWriter::write_slices() {
  Region& region = node_->region();
  slices_.clear();
  for (const ListPtr& list : changing_.growing) {
    const std::optional<Appended> step = appended_to(*list);
    if (!step) continue;
    const auto is_outside = [this](const TensorPtr& t) { return before_.holds(t->buffer); };
    if (is_outside(step->item) || std::any_of(step->from.begin(), step->from.end(), is_outside))
      throw unsupported("a list gets a tensor from outside the loop in each step")
          .hint("append a copy: .clone()");
    if (changing_.sizes.depends_on_step(region, step->item->shape()))
      throw unsupported("a list gets a tensor of another size ({}) in each step of a loop",
                        step->item->type.str())
          .hint("carry one tensor and join the new part to it with torch.cat");
    region.add_result(build_.read(step->item).value());
    const bool always = is_known_true(step->kept);
    if (!always) region.add_result(condition_value(build_, step->kept).value());
    slices_.emplace_back(list, !always);
  }
  may_stop_ = !limit_ || !is_known_true(start_.go_on) || !is_known_true(state_.go_on);
}

/// The operator, with the sizes that it gives.
Loop LoopWriter::complete_op() {
  Loop op{.carried = static_cast<std::int64_t>(all_.size()), .limit = limit_};
  changing_.sizes.complete(op, build_, carried_sizes({}));
  if (may_stop_) give_slices(op, build_, node_->region().results().size() - all_.size() - 1);
  return op;
}

void LoopWriter::discard() { node_->parent().erase(node_); }

std::vector<AbstractValue> LoopWriter::finish() {
  capture(*node_);
  node_->set_op(complete_op());
  node_->add_outputs(node_->infer());
  state_ = start_;
  begin_structures();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Ref value = build_.ref(node_->output(i));
    Carried& c = all_[i];
    if (!c.place) {
      c.set(value);
      continue;
    }
    *c.place() = like(build_, c.form, value);
  }
  share(all_);
  for (const auto& key : changing_.slots) before_.objects().slots().at(key).written = true;
  for (const ListPtr& list : changing_.counted) before_.objects().lengths().erase(list);
  std::size_t next = all_.size();
  for (const auto& [list, some] : slices_) {
    Ref stack = build_.ref(node_->output(next++));
    if (some) {
      const Ref kept = build_.sized(NonZero{}, {build_.ref(node_->output(next++))})[0];
      stack = index_select(stack, 0, reshape(kept, {kept.shape()[0]}));
    }
    list->items.emplace_back(StackedList{build_.tensor(stack)});
  }
  return state_.carried;
}

}  // namespace tenon::converter
