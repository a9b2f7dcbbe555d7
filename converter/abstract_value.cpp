#include "converter/abstract_value.h"

#include "converter/tensor.h"

namespace tenon::converter {

AbstractValue::AbstractValue(const AbstractValue&) = default;
AbstractValue::AbstractValue(AbstractValue&&) noexcept = default;
AbstractValue& AbstractValue::operator=(const AbstractValue&) = default;
AbstractValue& AbstractValue::operator=(AbstractValue&&) noexcept = default;
AbstractValue::~AbstractValue() = default;

SymbolicBool symbolic_bool(std::string why, std::string op, std::vector<AbstractValue> operands) {
  return {std::move(why), std::make_shared<const Comparison>(Comparison{std::move(op), std::move(operands)})};
}

const StackedList* List::stacked_list() const {
  return items.empty() ? nullptr : items.back().get<StackedList>();
}

AbstractValue list_of(std::vector<AbstractValue> items) {
  auto list = std::make_shared<List>();
  list->items = std::move(items);
  return list;
}

AbstractValue tuple_of(std::vector<AbstractValue> items) {
  auto tuple = std::make_shared<Tuple>();
  tuple->items = std::move(items);
  return TuplePtr(tuple);
}

const std::vector<AbstractValue>* items_of(const AbstractValue& d) {
  if (const auto* list = d.get<ListPtr>()) return &(*list)->items;
  if (const auto* tuple = d.get<TuplePtr>()) return &(*tuple)->items;
  return nullptr;
}

bool is_poisoned(const AbstractValue& d) {
  if (d.is<Poison>()) return true;
  if (const auto* tensor = d.get<TensorPtr>()) return (*tensor)->buffer->poisoned;
  const auto* items = items_of(d);
  if (!items) return false;
  for (const AbstractValue& item : *items)
    if (is_poisoned(item)) return true;
  return false;
}

bool holds_tensor(const AbstractValue& d) {
  if (d.is_tensor() || d.is<StackedList>()) return true;
  const auto* items = items_of(d);
  if (!items) return false;
  for (const AbstractValue& item : *items)
    if (holds_tensor(item)) return true;
  return false;
}

std::string kind_name(const AbstractValue& d) {
  if (const auto* divergent = d.get<DivergentValue>()) return divergent->why;
  static constexpr const char* names[] = {"None",
                                          "an unsupported value",
                                          "an uninitialized value",
                                          "a bool",
                                          "an undecided bool",
                                          "an int",
                                          "a float",
                                          "a string",
                                          "a device",
                                          "a tensor",
                                          "a list",
                                          "a dict",
                                          "a tuple",
                                          "an object",
                                          "one thing or another",
                                          "items of a loop of unknown length"};
  return names[d.value.index()];
}

}  // namespace tenon::converter
