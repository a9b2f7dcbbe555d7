#include "converter/interpreter/stacked_list.h"

#include "base/error.h"
#include "converter/aten/shapes.h"
#include "converter/interpreter/numbers.h"
#include "converter/interpreter/regions.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

const List* series_list(std::span<const AbstractValue> arguments) {
  const auto* list = arguments.empty() ? nullptr : arguments[0].get<ListPtr>();
  return list && (*list)->stacked_list() ? list->get() : nullptr;
}

std::int64_t axis_of(std::span<const AbstractValue> arguments, std::size_t rank) {
  const auto* axis = arguments.size() > 1 ? arguments[1].get<Dim>() : nullptr;
  if (arguments.size() > 1 && !(axis && axis->is_known())) throw unsupported("an axis that is not known");
  return normalize_axis(axis ? axis->value() : 0, rank);
}

/// All items along a new first axis.
Ref stacked(Builder& build, const List& list) {
  std::vector<Ref> parts;
  const Ref stack = build.read(list.stacked_list()->stack);
  for (std::size_t i = 0; i + 1 < list.items.size(); ++i) {
    const auto* item = list.items[i].get<TensorPtr>();
    if (!item) throw unsupported("{} among tensors of a list", kind_name(list.items[i]));
    Shape shape = (*item)->shape();
    shape.insert(shape.begin(), Dim(1));
    parts.push_back(reshape(build.read(*item), shape));
  }
  parts.push_back(stack);
  return parts.size() == 1 ? stack : concat(parts, 0);
}

/// The first axis moved to place `to`.
Ref moved(const Ref& x, std::int64_t to) {
  std::vector<std::int64_t> axes;
  for (std::int64_t i = 1; i < static_cast<std::int64_t>(x.rank()); ++i) axes.push_back(i);
  axes.insert(axes.begin() + to, 0);
  return to == 0 ? x : permute(x, axes);
}

/// The items after each other along one of their axes.
Ref joined(Builder& build, const List& list, std::int64_t axis) {
  std::vector<Ref> parts;
  for (std::size_t i = 0; i + 1 < list.items.size(); ++i) {
    const auto* item = list.items[i].get<TensorPtr>();
    if (!item) throw unsupported("{} among tensors of a list", kind_name(list.items[i]));
    parts.push_back(build.read(*item));
  }
  const Ref stack = moved(build.read(list.stacked_list()->stack), axis);
  Shape shape = stack.shape();
  const auto at = static_cast<std::size_t>(axis);
  shape[at] = shape[at] * shape[at + 1];
  shape.erase(shape.begin() + axis + 1);
  parts.push_back(reshape(stack, shape));
  return parts.size() == 1 ? parts[0] : concat(parts, axis);
}

/// An item shares its memory with the list.
AbstractValue item(Builder& build, const List& list, const AbstractValue& index) {
  const TensorPtr& stack = list.stacked_list()->stack;
  const auto before = static_cast<std::int64_t>(list.items.size()) - 1;
  const auto* place = index.get<Dim>();
  if (!place) {
    if (before > 0) throw unsupported("an unknown index into a list that a loop appended to");
    return AbstractValue(select_unknown(build, stack, 0, build.read(*index.get<TensorPtr>())));
  }
  if (!place->is_known()) throw unsupported("an index into a list that is not known ({})", place->str());
  if (place->value() >= 0 && place->value() < before)
    return list.items[static_cast<std::size_t>(place->value())];
  const Dim& count = stack->shape()[0];
  const Dim at = place->value() < 0 ? count + *place : *place - before;
  if (build.known_less(at, Dim(0)).value_or(true) || !build.known_less(at, count).value_or(false))
    throw unsupported("item {} of a list with {} items from a loop, which may be too few", place->value(),
                      count.str());
  return AbstractValue(select(build, stack, 0, at));
}

}  // namespace

std::optional<AbstractValue> run_on_stacked_list(Builder& build, std::string_view name,
                                                 std::span<const AbstractValue> arguments) {
  const List* list = series_list(arguments);
  if (!list) return std::nullopt;
  const std::size_t rank = list->stacked_list()->stack->rank();
  if (name == "stack")
    return AbstractValue(build.tensor(moved(stacked(build, *list), axis_of(arguments, rank))));
  if (name == "cat" || name == "concat" || name == "concatenate")
    return AbstractValue(build.tensor(joined(build, *list, axis_of(arguments, rank - 1))));
  if (name == "__getitem__" && (arguments[1].is<Dim>() || arguments[1].is_tensor()))
    return AbstractValue(item(build, *list, arguments[1]));
  return std::nullopt;
}

std::optional<AbstractValue> length_while_growing(Builder& build, ObjectStore& objects, std::string_view name,
                                                  std::span<const AbstractValue> arguments) {
  const auto* list = name == "len" && arguments.size() == 1 ? arguments[0].get<ListPtr>() : nullptr;
  if (!list || !(*list)->grows) return std::nullopt;
  const auto before = objects.lengths().find(*list);
  if (before == objects.lengths().end())
    throw ListGrows(*list, "the length of a list that a loop of unknown length appends to", true);
  Ref length = number_value(build, before->second);
  if (const auto appended = appended_to(**list))
    length = length + cast(DType::i64, condition_value(build, appended->kept));
  return AbstractValue(build.python_number(length));
}

}  // namespace tenon::converter
