#include "converter/aten/table.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/error.h"
#include "converter/aten/complex.h"
#include "converter/aten/float8.h"
#include "converter/aten/mapping.h"
#include "converter/aten/names.h"
#include "converter/aten/promote.h"
#include "converter/aten/quantized.h"
#include "converter/aten/results.h"
#include "converter/aten/spelling.h"
#include "converter/c10_dtype.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

constexpr std::array families = {
#define FAMILY(name) name,
#include "converter/aten/families.def"
};

/// "permute_copy" → "permute": a view's copy; empty when the name is not of that kind.
std::string_view view_name(std::string_view name) {
  constexpr std::string_view suffix = "_copy";
  return name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : std::string_view();
}

bool serves(std::string_view name, std::string_view overload) {
  if (find_entry(name, overload) || find_mapping(name, overload)) return true;
  const Spelling* item = find_foreach(name, overload);
  return item && is_aten_implemented(item->name, item->overload);
}

/// The operator of the tables that a name is a form of.
struct ServedOperator {
  std::string name, overload;
  bool is_copy = false;
  const Spelling* spelling = nullptr;  // that writes, or null
};

std::optional<ServedOperator> served_operator(std::string_view name, std::string_view overload) {
  const Spelling* spelling = find_spelling(name, overload);
  const bool is_out = spelling && !spelling->written.empty();
  if (!is_out && serves(name, overload)) return ServedOperator{std::string(name), std::string(overload)};
  if (const auto view = view_name(name); !is_out && !view.empty() && serves(view, overload))
    return ServedOperator{std::string(view), std::string(overload), true};
  if (!spelling) return std::nullopt;
  if (serves(spelling->name, spelling->overload))
    return ServedOperator{spelling->name, spelling->overload, false, spelling};
  if (const auto view = view_name(spelling->name); !view.empty() && serves(view, spelling->overload))
    return ServedOperator{std::string(view), spelling->overload, false, spelling};
  return std::nullopt;
}

/// The value with floats of 16 and 8 bits in it as f32; `found` gathers their dtypes and those of other
/// tensors.
AbstractValue widened(Builder& build, const AbstractValue& d, std::vector<AbstractValue>& found) {
  if (const auto* t = d.get<TensorPtr>()) {
    found.push_back(d);
    return is_small_float((*t)->dtype()) ? AbstractValue(build.tensor(cast(DType::f32, build.read(*t)))) : d;
  }
  const auto* list = d.get<ListPtr>();
  if (!list) return d;
  std::vector<AbstractValue> items;
  for (const AbstractValue& item : (*list)->items) items.push_back(widened(build, item, found));
  return list_of(std::move(items));
}

}  // namespace

Results run_in_f32(Handler handler, Call& call) {
  std::vector<AbstractValue> found;
  std::vector<Argument> arguments = call.arguments();
  for (Argument& a : arguments) a.value = widened(call.build, a.value, found);
  std::erase_if(found, [](const AbstractValue& d) { return !is_float((*d.get<TensorPtr>())->dtype()); });
  if (found.empty() || call.has("dtype") || !is_small_float(result_type(found))) return handler(call);
  const DType half = result_type(found);
  Call wide(call.build, call.name, call.overload, std::move(arguments));
  Results results = handler(wide);
  wide.check_all_used();
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  for (Ref& r : results.fresh)
    if (r.dtype() == DType::f32) r = cast(half, r);
  TENON_CHECK(!results.fresh.empty());
  return results;
}

namespace {

/// "_foreach_add": the operator on each item of the lists.
std::vector<AbstractValue> run_foreach(Call& call, const Spelling& item) {
  const std::vector<Argument>& given = call.arguments();
  std::optional<std::size_t> count;
  for (const Argument& a : given)
    if (const auto* items = items_of(a.value)) {
      if (count && *count != items->size()) throw error("lists of {} and {} items", *count, items->size());
      count = items->size();
    }
  std::vector<AbstractValue> results;
  for (std::size_t i = 0; i < count.value_or(0); ++i) {
    std::vector<Argument> own;
    for (std::size_t k = 0; k < given.size(); ++k) {
      const auto* items = items_of(given[k].value);
      own.push_back({item.arguments.at(k), items ? (*items)[i] : given[k].value, given[k].is_default});
    }
    results.push_back(run_aten(call.build, item.name, item.overload, std::move(own)).at(0));
  }
  for (const Argument& a : given) call.ignore({a.name});
  return {list_of(std::move(results))};
}

std::vector<AbstractValue> run_pure(Call& call) {
  if (const Spelling* item = find_foreach(call.name, call.overload)) return run_foreach(call, *item);
  const AtenEntry* complex = has_complex_operand(call) ? find_complex_entry(call) : nullptr;
  const AtenEntry* entry = complex ? complex : find_entry(call.name, call.overload);
  check_float8(call, entry);
  if (!entry) {
    const AtenMapping& mapping = *find_mapping(call.name, call.overload);
    return to_values(call, entry, mapping.op->op_kind == OpKind::pointwise, run_mapping(mapping, call));
  }
  return to_values(call, entry, false,
                   entry->half_precision == HalfPrecision::in_f32 ? run_in_f32(entry->handler, call)
                                                                  : entry->handler(call));
}

/// What a spelling writes to; its arguments get the names that the functional operator gives them.
std::vector<AbstractValue> targets_of(const Spelling& spelling, std::vector<Argument>& arguments) {
  std::vector<AbstractValue> targets;
  std::vector<Argument> read;
  for (Argument& a : arguments) {
    if (std::find(spelling.written.begin(), spelling.written.end(), a.name) != spelling.written.end())
      targets.push_back(a.value);
    else
      read.push_back(std::move(a));
  }
  for (std::size_t i = 0; i < std::min(read.size(), spelling.arguments.size()); ++i)
    read[i].name = spelling.arguments[i];
  if (spelling.written.empty() && !read.empty()) targets.push_back(read[0].value);
  const auto* made = targets.empty() ? nullptr : targets[0].get<TensorPtr>();
  if (spelling.is_made && made) read.push_back({"dtype", AbstractValue(c10_code((*made)->dtype()))});
  arguments = std::move(read);
  return targets;
}

/// Of products, but for what they are added to, each element of the result reads many.
ReadBy read_by(std::string_view operation, std::string_view argument) {
  constexpr std::string_view products[] = {"mm", "bmm", "matmul", "mv", "dot", "vdot"};
  constexpr std::string_view sums[] = {"addmm", "addmv", "addbmm", "baddbmm"};
  const auto is_one_of = [&](const auto& names) {
    return std::find(std::begin(names), std::end(names), operation) != std::end(names);
  };
  return is_one_of(products) || (is_one_of(sums) && argument != "self") ? ReadBy::all : ReadBy::element;
}

/// An operand that shares memory with what is written: PyTorch says nothing of the order of reads and writes.
void check_order(const std::vector<AbstractValue>& targets, const Call& call) {
  for (const AbstractValue& target : targets)
    for (const Argument& a : call.arguments()) {
      const auto *to = target.get<TensorPtr>(), *from = a.value.get<TensorPtr>();
      if (!to || !from || (*to)->buffer != (*from)->buffer || !(*to)->layout || !(*from)->layout) continue;
      // Read before anything is written: a number, and what is cast.
      if ((a.name == "value" && (*from)->rank() == 0) || (*to)->dtype() != (*from)->dtype()) continue;
      if (overwrites({(*to)->shape(), *(*to)->layout}, {(*from)->shape(), *(*from)->layout},
                     read_by(call.name, a.name)))
        throw unsupported(
            "an in-place write to memory that argument {} is read from at other places: their order "
            "would count",
            a.name)
            .hint("call .clone() on what is read");
    }
}

/// Writes the results where the spelling says.
void put(Call& call, const Spelling& spelling, const std::vector<AbstractValue>& targets,
         const std::vector<AbstractValue>& results) {
  if (results.size() != targets.size())
    throw unsupported("{} results that are written to {} tensors", results.size(), targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const auto *to = targets[i].get<TensorPtr>(), *from = results[i].get<TensorPtr>();
    const bool out = !spelling.written.empty();
    if (to && from && !out && is_view(find_entry(call.name, call.overload)))
      call.build.become(*to, *from);
    else if (to && from && out && (*to)->shape() != (*from)->shape())
      call.build.resize(*to, call.build.read(*from));
    else
      store(call.build, targets[i], results[i]);
  }
}

}  // namespace

Results run_with_axes(Handler handler, Call& call) {
  if (call.tensor("self").rank() > 0) return handler(call);
  std::vector<Argument> arguments = call.arguments();
  for (Argument& a : arguments)
    if (const auto* t = a.value.get<TensorPtr>(); t && (*t)->rank() == 0)
      a.value = call.build.tensor(reshape(call.build.read(*t), {Dim(1)}));
  Call vectors(call.build, call.name, call.overload, std::move(arguments));
  Results results = handler(vectors);
  vectors.check_all_used();
  for (const Argument& a : call.arguments()) call.ignore({a.name});
  for (Ref& r : results.fresh) r = reshape(r, {});
  return results;
}

const AtenEntry* find_entry(std::string_view name, std::string_view overload) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const AtenEntry*> all;
    for (const auto& family : families)
      for (const AtenEntry& entry : family()) TENON_CHECK(all.emplace(entry.name, &entry).second);
    return all;
  }();
  auto it = index.find(std::string(name) + "." + std::string(overload));
  if (it == index.end()) it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

std::span<const std::string_view> implemented_operators() {
  static const auto names = [] {
    std::vector<std::string_view> all = mapped_names();
    for (const auto& family : families)
      for (const AtenEntry& entry : family()) all.push_back(entry.name);
    for (std::string_view& name : all) name = name.substr(0, name.find('.'));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }();
  return names;
}

bool is_aten_implemented(std::string_view name, std::string_view overload) {
  return served_operator(name, overload).has_value();
}

std::vector<AbstractValue> run_aten(Builder& build, std::string_view name, std::string_view overload,
                                    std::vector<Argument> arguments) {
  if (is_quantized_call(name, arguments)) return run_quantized(build, name, overload, std::move(arguments));
  const auto form = served_operator(name, overload);
  if (!form) throw unsupported("the operator is not implemented");
  std::vector<AbstractValue> targets;
  if (form->spelling) targets = targets_of(*form->spelling, arguments);
  Call call(build, form->name, form->overload, std::move(arguments));
  std::vector<AbstractValue> results = run_pure(call);
  call.check_all_used();
  if (form->is_copy)
    for (AbstractValue& d : results) d = copied(build, d);
  if (!form->spelling) return results;
  check_order(targets, call);
  put(call, *form->spelling, targets, results);
  return targets;
}

}  // namespace tenon::converter
