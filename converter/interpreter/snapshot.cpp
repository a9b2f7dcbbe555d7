#include "converter/interpreter/snapshot.h"

#include "base/error.h"
#include "converter/tensor.h"

namespace tenon::converter {

Snapshot::Snapshot(std::span<std::vector<AbstractValue>* const> variables, ObjectStore& objects)
    : objects_(&objects) {
  for (std::vector<AbstractValue>* frame : variables) {
    variables_.emplace_back(frame, *frame);
    for (const AbstractValue& d : *frame) visit(d);
  }
  slots = objects.slots();
  for (const auto& [key, slot] : slots) {
    visit(slot.initial);
    visit(slot.current);
  }
}

void Snapshot::visit(const AbstractValue& d) {
  if (const auto* tensor = d.get<TensorPtr>()) {
    buffers.emplace((*tensor)->buffer, *(*tensor)->buffer);
    tensors.emplace(*tensor, **tensor);
  } else if (const auto* list = d.get<ListPtr>()) {
    if (!lists.emplace(*list, **list).second) return;
    for (const AbstractValue& item : (*list)->items) visit(item);
  } else if (const auto* dict = d.get<DictPtr>()) {
    if (!dicts.emplace(*dict, **dict).second) return;
    for (const auto& [key, value] : (*dict)->items) visit(value);
  } else if (const auto* tuple = d.get<TuplePtr>()) {
    if (!seen_.insert(tuple->get()).second) return;
    for (const AbstractValue& item : (*tuple)->items) visit(item);
  } else if (const auto* stacked = d.get<StackedList>()) {
    visit(AbstractValue(stacked->stack));
  } else if (const auto* symbolic = d.get<SymbolicBool>(); symbolic && symbolic->of) {
    for (const AbstractValue& operand : symbolic->of->operands) visit(operand);
  }
}

Snapshot Snapshot::now() const {
  Snapshot out(*this);
  for (auto& [buffer, content] : out.buffers) content = *buffer;
  for (auto& [tensor, view] : out.tensors) view = *tensor;
  for (auto& [list, content] : out.lists) content = *list;
  for (auto& [dict, content] : out.dicts) content = *dict;
  for (auto& [variables, content] : out.variables_) content = *variables;
  out.slots = objects_->slots();
  return out;
}

void Snapshot::restore() const {
  for (const auto& [buffer, content] : buffers) *buffer = content;
  for (const auto& [tensor, view] : tensors) *tensor = view;
  for (const auto& [list, content] : lists) *list = content;
  for (const auto& [dict, content] : dicts) *dict = content;
  for (const auto& [variables, content] : variables_) *variables = content;
  // An object made since has no content before: a state that holds it keeps the numbers in it.
  ObjectStore::AttributeSlots before = slots;
  for (const auto& [key, slot] : objects_->slots())
    if (objects_->is_created(key.first) && (slot.current.is_number() || slot.current.is<std::string>()))
      before.emplace(key, slot);
  objects_->slots() = std::move(before);
}

bool is_same_thing(const AbstractValue& a, const AbstractValue& b) {
  if (a.value.index() != b.value.index()) return false;
  if (const auto* t = a.get<TuplePtr>()) {
    const auto &x = (*t)->items, &y = (*b.get<TuplePtr>())->items;
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), is_same_thing);
  }
  if (const auto* object = a.get<ObjectPtr>()) {
    const auto* m = dynamic_cast<const ModuleObject*>(object->get());
    const auto* n = dynamic_cast<const ModuleObject*>(b.get<ObjectPtr>()->get());
    return *object == *b.get<ObjectPtr>() || (m && n && m->instance == n->instance);
  }
  if (const auto* u = a.get<SymbolicBool>()) return u->of && u->of == b.get<SymbolicBool>()->of;
  if (const auto* device = a.get<Device>()) return device->name == b.get<Device>()->name;
  if (const auto* stacked = a.get<StackedList>()) return stacked->stack == b.get<StackedList>()->stack;
  if (a.is<Uninitialized>() || a.is<Poison>()) return true;
  return same_value(a, b);
}

AbstractValue rebuilt(const AbstractValue& d, const std::function<AbstractValue(const AbstractValue&)>& f,
                      const std::string& what) {
  const auto* items = items_of(d);
  if (!items) return f(d);
  std::vector<AbstractValue> out;
  for (const AbstractValue& item : *items) out.push_back(rebuilt(item, f, what));
  if (d.is<ListPtr>()) {
    const AbstractValue list = list_of(std::move(out));
    (*list.get<ListPtr>())->fixed = what;
    return list;
  }
  auto tuple = std::make_shared<Tuple>(**d.get<TuplePtr>());
  tuple->items = std::move(out);
  return AbstractValue(TuplePtr(tuple));
}

void check_same_views(const Snapshot& before, const Snapshot& after) {
  for (const auto& [tensor, view] : before.tensors) {
    const AbstractTensor& now = after.tensors.at(tensor);
    if (now.type != view.type || now.layout != view.layout || now.buffer != view.buffer)
      throw unsupported("an operator such as squeeze_ that may run or not, or any number of times")
          .hint("write x = x.squeeze(...)");
  }
}

bool same_attribute(const AbstractValue& a, const AbstractValue& b) {
  if (a.value.index() != b.value.index()) return false;
  if (const auto* x = a.get<TensorPtr>()) {
    const AbstractTensor &p = **x, &q = **b.get<TensorPtr>();
    return &p == &q || (p.buffer == q.buffer && p.steps.empty() && q.steps.empty() && p.type == q.type &&
                        p.layout == q.layout && p.is_scalar == q.is_scalar);
  }
  const auto *x = items_of(a), *y = items_of(b);
  if (!x) return is_same_thing(a, b);
  return std::equal(x->begin(), x->end(), y->begin(), y->end(), same_attribute);
}

bool is_same_content(const Buffer& a, const Buffer& b) {
  return a.version == b.version && a.value == b.value && a.number == b.number && a.poisoned == b.poisoned &&
         a.unreadable == b.unreadable;
}

}  // namespace tenon::converter
