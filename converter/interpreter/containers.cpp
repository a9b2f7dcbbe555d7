// Functions on lists, tuples and dicts.
#include <algorithm>

#include "base/error.h"
#include "converter/interpreter/functions.h"
#include "converter/interpreter/scalars.h"
#include "converter/tensor.h"

namespace tenon::converter {

std::size_t place_of(const AbstractValue& index, std::size_t size) {
  const std::int64_t i = known_integer(index);
  const std::int64_t n = static_cast<std::int64_t>(size);
  if (i < -n || i >= n) throw error("index {} is out of range for a list of {}", i, n);
  return static_cast<std::size_t>(i < 0 ? i + n : i);
}

namespace {

/// The items of a list that is about to change.
std::vector<AbstractValue>& writable(const AbstractValue& d) {
  const auto* list = d.get<ListPtr>();
  if (!list) throw unsupported("a change of {}", kind_name(d));
  if (!(*list)->state.empty()) {
    throw unsupported("a change of the list {}, which the model keeps between calls", (*list)->state)
        .hint("build a new list in forward()");
  }
  if (!(*list)->fixed.empty())
    throw unsupported("a change of {}, which may be another list too", (*list)->fixed)
        .hint("change a copy of it: list(x)");
  return (*list)->items;
}

Dict& dict_of(const AbstractValue& d) {
  const auto* dict = d.get<DictPtr>();
  if (!dict) throw unsupported("{} where a dict is needed", kind_name(d));
  return **dict;
}
Dict& writable_dict(const AbstractValue& d) {
  Dict& dict = dict_of(d);
  if (!dict.state.empty())
    throw unsupported("a change of the dict {}, which the model keeps between calls", dict.state);
  return dict;
}

bool is_same(const AbstractValue& a, const AbstractValue& b) {
  const AbstractValue same = equal(a, b);
  if (const auto* flag = same.get<bool>()) return *flag;
  throw unsupported("a search that depends on {}",
                    same.is<SymbolicBool>() ? same.get<SymbolicBool>()->why : "unknown values");
}

auto find_key(Dict& dict, const AbstractValue& key) {
  return std::find_if(dict.items.begin(), dict.items.end(),
                      [&](const auto& item) { return is_same(item.first, key); });
}

const std::vector<AbstractValue>& items(const AbstractValue& d) {
  if (const auto* found = items_of(d)) return *found;
  throw unsupported("{} where a list is needed", kind_name(d));
}

AbstractValue get_item(Arguments a) {
  if (a[0].is<DictPtr>()) {
    Dict& dict = dict_of(a[0]);
    const auto it = find_key(dict, a[1]);
    if (it == dict.items.end()) throw error("the key {} is not in the dict", text_of(a[1]));
    return it->second;
  }
  const auto& list = items(a[0]);
  return list[place_of(a[1], list.size())];
}

AbstractValue set_item(Arguments a) {
  if (a[0].is<DictPtr>()) {
    Dict& dict = writable_dict(a[0]);
    const auto it = find_key(dict, a[1]);
    if (it == dict.items.end())
      dict.items.emplace_back(a[1], a[2]);
    else
      it->second = a[2];
    return {};
  }
  auto& list = writable(a[0]);
  list[place_of(a[1], list.size())] = a[2];
  return a[0];
}

AbstractValue delete_item(Arguments a) {
  if (a[0].is<DictPtr>()) {
    Dict& dict = writable_dict(a[0]);
    const auto it = find_key(dict, a[1]);
    if (it == dict.items.end()) throw error("the key {} is not in the dict", text_of(a[1]));
    dict.items.erase(it);
    return {};
  }
  auto& list = writable(a[0]);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(place_of(a[1], list.size())));
  return {};
}

/// A list of unknown length takes part in few functions.
void check_length(const AbstractValue& d, std::string_view function) {
  const auto* list = d.get<ListPtr>();
  if (!list) return;
  if ((*list)->grows && function != "append")
    throw unsupported("{} of a list that a loop of unknown length appends to", function)
        .hint("use the list after the loop: torch.stack(list)");
  if ((*list)->stacked_list() && function != "len")
    throw unsupported("{} of a list of unknown length", function)
        .hint("use torch.stack(list) or torch.cat(list)");
}

AbstractValue append(Arguments a) {
  writable(a[0]).push_back(a[1]);
  return a[0];
}
AbstractValue extend(Arguments a) {
  const std::vector<AbstractValue> more = items(a[1]);
  auto& list = writable(a[0]);
  list.insert(list.end(), more.begin(), more.end());
  return a[0];
}
AbstractValue insert(Arguments a) {
  auto& list = writable(a[0]);
  const auto n = static_cast<std::int64_t>(list.size());
  const std::int64_t i = known_integer(a[1]);
  list.insert(list.begin() + std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n), a[2]);
  return {};
}
AbstractValue pop(Arguments a) {
  if (a[0].is<DictPtr>()) {
    Dict& dict = writable_dict(a[0]);
    const auto it = find_key(dict, a[1]);
    if (it == dict.items.end()) {
      if (a.size() > 2) return a[2];
      throw error("the key {} is not in the dict", text_of(a[1]));
    }
    AbstractValue value = it->second;
    dict.items.erase(it);
    return value;
  }
  auto& list = writable(a[0]);
  const std::size_t i = place_of(a.size() > 1 ? a[1] : AbstractValue(-1), list.size());
  AbstractValue value = list[i];
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
  return value;
}
/// The first pair, as TorchScript has it.
AbstractValue pop_item(Arguments a) {
  Dict& dict = writable_dict(a[0]);
  if (dict.items.empty()) throw error("popitem() of an empty dict");
  const auto [key, value] = dict.items.front();
  dict.items.erase(dict.items.begin());
  return tuple_of({key, value});
}
AbstractValue clear(Arguments a) {
  if (a[0].is<DictPtr>())
    writable_dict(a[0]).items.clear();
  else
    writable(a[0]).clear();
  return {};
}
AbstractValue reverse(Arguments a) {
  auto& list = writable(a[0]);
  std::reverse(list.begin(), list.end());
  return {};
}
bool before(const AbstractValue& a, const AbstractValue& b) {
  const std::array both = {a, b};
  const auto less = run_scalar("lt", "", both);
  if (less && less->is<bool>()) return *less->get<bool>();
  throw unsupported("sorting of values that are not known");
}
AbstractValue sort(Arguments a) {
  auto& list = writable(a[0]);
  const bool descending = a.size() > 1 && a[1].is<bool>() && *a[1].get<bool>();
  std::stable_sort(list.begin(), list.end(), [&](const AbstractValue& x, const AbstractValue& y) {
    return descending ? before(y, x) : before(x, y);
  });
  return {};
}
AbstractValue sorted(Arguments a) {
  std::vector<AbstractValue> copy = items(a[0]);
  std::stable_sort(copy.begin(), copy.end(), before);
  return list_of(std::move(copy));
}
AbstractValue remove(Arguments a) {
  auto& list = writable(a[0]);
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const AbstractValue& d) { return is_same(d, a[1]); });
  if (it == list.end()) throw error("{} is not in the list", text_of(a[1]));
  list.erase(it);
  return {};
}
AbstractValue count(Arguments a) {
  const auto& list = items(a[0]);
  return AbstractValue(static_cast<std::int64_t>(
      std::count_if(list.begin(), list.end(), [&](const AbstractValue& d) { return is_same(d, a[1]); })));
}
AbstractValue index(Arguments a) {
  const auto& list = items(a[0]);
  const auto it =
      std::find_if(list.begin(), list.end(), [&](const AbstractValue& d) { return is_same(d, a[1]); });
  if (it == list.end()) throw error("{} is not in the list", text_of(a[1]));
  return AbstractValue(it - list.begin());
}

AbstractValue length(Arguments a) {
  if (a[0].is<DictPtr>()) return AbstractValue(dict_of(a[0]).items.size());
  const auto& list = items(a[0]);
  const StackedList* stacked = a[0].is<ListPtr>() ? (*a[0].get<ListPtr>())->stacked_list() : nullptr;
  if (stacked) return AbstractValue(Dim(list.size() - 1) + stacked->stack->shape()[0]);
  return AbstractValue(list.size());
}
AbstractValue contains(Arguments a) {
  if (a[0].is<DictPtr>()) {
    Dict& dict = dict_of(a[0]);
    return AbstractValue(find_key(dict, a[1]) != dict.items.end());
  }
  const auto& list = items(a[0]);
  return AbstractValue(
      std::any_of(list.begin(), list.end(), [&](const AbstractValue& d) { return is_same(d, a[1]); }));
}

/// list[start:end:step], with Python's rules for negative and missing bounds.
AbstractValue slice(Arguments a) {
  const auto& list = items(a[0]);
  const auto n = static_cast<std::int64_t>(list.size());
  const std::int64_t step = a.size() > 3 ? known_integer(a[3]) : 1;
  if (step == 0) throw error("a slice with a step of 0");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? n : n - 1;
  const auto bound = [&](std::size_t i, std::int64_t missing) {
    if (a.size() <= i || a[i].is_none()) return missing;
    const std::int64_t b = known_integer(a[i]);
    return std::clamp(b < 0 ? b + n : b, low, high);
  };
  const std::int64_t start = bound(1, step > 0 ? low : high);
  const std::int64_t end = bound(2, step > 0 ? high : low);
  std::vector<AbstractValue> out;
  for (std::int64_t i = start; step > 0 ? i < end : i > end; i += step)
    out.push_back(list[static_cast<std::size_t>(i)]);
  return a[0].is<TuplePtr>() ? tuple_of(std::move(out)) : list_of(std::move(out));
}

AbstractValue copy(Arguments a) {
  if (!a[0].is<DictPtr>()) return list_of(items(a[0]));
  auto dict = std::make_shared<Dict>();
  dict->items = dict_of(a[0]).items;
  return DictPtr(dict);
}
/// Of a dict, or of a list of pairs.
AbstractValue new_dict(Arguments a) {
  if (!a.empty() && a[0].is<DictPtr>()) return copy(a);
  const AbstractValue made(std::make_shared<Dict>());
  if (a.empty()) return made;
  for (const AbstractValue& pair : items(a[0])) {
    const auto& parts = items(pair);
    if (parts.size() != 2) throw error("dict() of {} values where a pair is needed", parts.size());
    const std::array one = {made, parts[0], parts[1]};
    set_item(one);
  }
  return made;
}
AbstractValue joined(Arguments a) {
  std::vector<AbstractValue> out = items(a[0]);
  const auto& more = items(a[1]);
  out.insert(out.end(), more.begin(), more.end());
  return list_of(std::move(out));
}
AbstractValue repeated(Arguments a) {
  std::vector<AbstractValue> out;
  const auto& list = items(a[0]);
  for (std::int64_t i = known_integer(a[1]); i > 0; --i) out.insert(out.end(), list.begin(), list.end());
  return list_of(std::move(out));
}
/// list *= n
AbstractValue repeat_in_place(Arguments a) {
  std::vector<AbstractValue> all = items(repeated(a));
  writable(a[0]) = std::move(all);
  return a[0];
}
AbstractValue set_default(Arguments a) {
  Dict& dict = dict_of(a[0]);
  const auto it = find_key(dict, a[1]);
  if (it != dict.items.end()) return it->second;
  writable_dict(a[0]).items.emplace_back(a[1], a[2]);
  return a[2];
}
AbstractValue keys(Arguments a) {
  std::vector<AbstractValue> out;
  for (const auto& item : dict_of(a[0]).items) out.push_back(item.first);
  return list_of(std::move(out));
}
AbstractValue values(Arguments a) {
  std::vector<AbstractValue> out;
  for (const auto& item : dict_of(a[0]).items) out.push_back(item.second);
  return list_of(std::move(out));
}
AbstractValue pairs(Arguments a) {
  std::vector<AbstractValue> out;
  for (const auto& item : dict_of(a[0]).items) out.push_back(tuple_of({item.first, item.second}));
  return list_of(std::move(out));
}
AbstractValue get(Arguments a) {
  Dict& dict = dict_of(a[0]);
  const auto it = find_key(dict, a[1]);
  if (it != dict.items.end()) return it->second;
  return a.size() > 2 ? a[2] : AbstractValue();
}
AbstractValue update(Arguments a) {
  for (const auto& [key, value] : dict_of(a[1]).items) {
    const std::array one = {a[0], key, value};
    set_item(one);
  }
  return {};
}

AbstractValue extreme(const std::vector<AbstractValue>& list, bool largest) {
  if (list.empty()) throw error("min() or max() of an empty list");
  AbstractValue best = list[0];
  for (const AbstractValue& d : list) {
    const std::array both = {best, d};
    const bool are_bools = best.is<bool>() && d.is<bool>();
    const auto next =
        run_scalar(are_bools ? (largest ? "__or__" : "__and__") : (largest ? "max" : "min"), "", both);
    if (!next) throw unsupported("min() or max() of {}", kind_name(d));
    best = *next;
  }
  return best;
}
/// True when the first list stands before the second in the order of a dictionary.
bool list_before(const AbstractValue& a, const AbstractValue& b) {
  const auto &x = items(a), &y = items(b);
  return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end(), before);
}
AbstractValue smallest(Arguments a) {
  if (a.size() == 2) return list_before(a[1], a[0]) ? a[1] : a[0];
  return extreme(items(a[0]), false);
}
AbstractValue largest(Arguments a) {
  if (a.size() == 2) return list_before(a[0], a[1]) ? a[1] : a[0];
  return extreme(items(a[0]), true);
}
AbstractValue less(Arguments a) { return AbstractValue(list_before(a[0], a[1])); }
AbstractValue greater(Arguments a) { return AbstractValue(list_before(a[1], a[0])); }
AbstractValue less_or_equal(Arguments a) { return AbstractValue(!list_before(a[1], a[0])); }
AbstractValue greater_or_equal(Arguments a) { return AbstractValue(!list_before(a[0], a[1])); }
AbstractValue total(Arguments a) {
  AbstractValue sum{0};
  for (const AbstractValue& d : items(a[0])) {
    const std::array both = {sum, d};
    const auto next = run_scalar("add", "", both);
    if (!next) throw unsupported("sum() of {}", kind_name(d));
    sum = *next;
  }
  return sum;
}
bool is_true(const AbstractValue& d) {
  const auto truth = run_scalar("Bool", "", std::span(&d, 1));
  if (truth && truth->is<bool>()) return *truth->get<bool>();
  throw unsupported("any() or all() of values that are not known");
}
AbstractValue all(Arguments a) {
  const auto& list = items(a[0]);
  return AbstractValue(std::all_of(list.begin(), list.end(), is_true));
}
AbstractValue any(Arguments a) {
  const auto& list = items(a[0]);
  return AbstractValue(std::any_of(list.begin(), list.end(), is_true));
}

/// The sizes that two shapes broadcast to.
AbstractValue broadcast_sizes(Arguments a) {
  const auto sizes = [](const AbstractValue& list) {
    Shape out;
    for (const AbstractValue& d : items(list)) {
      if (!integer(d)) throw unsupported("{} among sizes", kind_name(d));
      out.push_back(*integer(d));
    }
    return out;
  };
  const Shape both = broadcast(sizes(a[0]), sizes(a[1]));
  return list_of(std::vector<AbstractValue>(both.begin(), both.end()));
}

const ContainerFunctions& functions() {
  static const ContainerFunctions all_functions = {
      {"__getitem__", get_item},
      {"_set_item", set_item},
      {"__setitem__", set_item},
      {"Delete", delete_item},
      {"__delitem__", delete_item},
      {"append", append},
      {"extend", extend},
      {"insert", insert},
      {"pop", pop},
      {"popitem", pop_item},
      {"clear", clear},
      {"reverse", reverse},
      {"sort", sort},
      {"sorted", sorted},
      {"remove", remove},
      {"count", count},
      {"index", index},
      {"len", length},
      {"__contains__", contains},
      {"slice", slice},
      {"copy", copy},
      {"list", copy},
      {"dict", new_dict},
      {"Size", copy},
      {"select", get_item},
      {"ModuleContainerIndex", get_item},
      {"add", joined},
      {"add_", extend},
      {"mul", repeated},
      {"mul_", repeat_in_place},
      {"keys", keys},
      {"values", values},
      {"items", pairs},
      {"get", get},
      {"update", update},
      {"setdefault", set_default},
      {"lt", less},
      {"gt", greater},
      {"le", less_or_equal},
      {"ge", greater_or_equal},
      {"broadcast_shapes", broadcast_sizes},
      {"_infer_size", broadcast_sizes},
      {"min", smallest},
      {"max", largest},
      {"sum", total},
      {"all", all},
      {"any", any},
  };
  return all_functions;
}

}  // namespace

bool is_container_function(std::string_view name) {
  return functions().contains(name) || string_functions().contains(name);
}

std::optional<AbstractValue> run_container(std::string_view name, std::span<const AbstractValue> arguments) {
  if (arguments.empty()) return name == "dict" ? std::optional(new_dict(arguments)) : std::nullopt;
  if (name == "mul" && arguments.size() == 2 && arguments[0].is<Dim>() && items_of(arguments[1])) {
    const std::array turned = {arguments[1], arguments[0]};
    return run_container(name, turned);
  }
  const AbstractValue& first = arguments[0];
  const bool is_text = first.is<std::string>();
  if (!items_of(first) && !first.is<DictPtr>() && !is_text) return std::nullopt;
  const ContainerFunctions& all = is_text ? string_functions() : functions();
  const auto it = all.find(name);
  if (it == all.end()) return std::nullopt;
  for (const AbstractValue& d : arguments) check_length(d, name);
  return it->second(arguments);
}

}  // namespace tenon::converter
