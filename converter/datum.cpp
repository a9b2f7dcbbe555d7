#include "converter/datum.h"

#include "converter/tensor.h"

namespace tenon::converter {

Datum::Datum(const Datum&) = default;
Datum::Datum(Datum&&) noexcept = default;
Datum& Datum::operator=(const Datum&) = default;
Datum& Datum::operator=(Datum&&) noexcept = default;
Datum::~Datum() = default;

Undecided undecided(std::string why, std::string op, std::vector<Datum> operands) {
  return {std::move(why), std::make_shared<const Comparison>(Comparison{std::move(op), std::move(operands)})};
}

const Series* List::series() const { return items.empty() ? nullptr : items.back().get<Series>(); }

Datum list_of(std::vector<Datum> items) {
  auto list = std::make_shared<List>();
  list->items = std::move(items);
  return list;
}

Datum tuple_of(std::vector<Datum> items) {
  auto tuple = std::make_shared<Tuple>();
  tuple->items = std::move(items);
  return TuplePtr(tuple);
}

const std::vector<Datum>* items_of(const Datum& d) {
  if (const auto* list = d.get<ListPtr>()) return &(*list)->items;
  if (const auto* tuple = d.get<TuplePtr>()) return &(*tuple)->items;
  return nullptr;
}

bool is_poisoned(const Datum& d) {
  if (d.is<Poison>()) return true;
  if (const auto* tensor = d.get<TensorPtr>()) return (*tensor)->buffer->poisoned;
  const auto* items = items_of(d);
  if (!items) return false;
  for (const Datum& item : *items)
    if (is_poisoned(item)) return true;
  return false;
}

bool holds_tensor(const Datum& d) {
  if (d.is_tensor() || d.is<Series>()) return true;
  const auto* items = items_of(d);
  if (!items) return false;
  for (const Datum& item : *items)
    if (holds_tensor(item)) return true;
  return false;
}

std::string kind_name(const Datum& d) {
  if (const auto* mixed = d.get<Mixed>()) return mixed->why;
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
