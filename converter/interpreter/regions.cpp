#include "converter/interpreter/regions.h"

#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "ir/data_size.h"

namespace tenon::converter {

namespace {

bool comes_from_around(const Value* v, const std::unordered_set<const Value*>& own) {
  return !v->is_constant() && !own.contains(v);
}

/// The values of a region's own.
std::unordered_set<const Value*> own_values(const Region& region) {
  std::unordered_set<const Value*> own;
  for (const auto& p : region.parameters()) own.insert(p.get());
  for (const auto& node : region.nodes())
    for (std::size_t i = 0; i < node->num_outputs(); ++i) own.insert(node->output(i));
  return own;
}

}  // namespace

void capture(Node& node) {
  std::vector<Value*> found;
  std::unordered_set<const Value*> known;
  const auto note = [&](Value* v, const std::unordered_set<const Value*>& own) {
    if (comes_from_around(v, own) && known.insert(v).second) found.push_back(v);
  };
  for (const auto& region : node.regions()) {
    const auto own = own_values(*region);
    for (const auto& inner : region->nodes())
      for (Value* v : inner->inputs()) note(v, own);
    for (Value* v : region->results()) note(v, own);
  }
  for (Value* v : found) node.add_input(v);
  for (const auto& region : node.regions()) {
    std::unordered_map<const Value*, Value*> inside;
    for (const Value* v : found) inside[v] = region->add_parameter(v->type());
    for (const auto& inner : region->nodes())
      for (std::size_t i = 0; i < inner->inputs().size(); ++i)
        if (const auto it = inside.find(inner->input(i)); it != inside.end()) inner->set_input(i, it->second);
    for (std::size_t i = 0; i < region->results().size(); ++i)
      if (const auto it = inside.find(region->results()[i]); it != inside.end())
        region->set_result(i, it->second);
  }
}

std::set<std::string> inner_sizes(const Region& region) {
  std::set<std::string> sizes;
  for (const auto& node : region.nodes()) {
    for (const GivenSize& s : given_sizes(*node)) sizes.insert(s.symbol);
    for (const auto& inner : node->regions()) sizes.merge(inner_sizes(*inner));
  }
  return sizes;
}

namespace {
const std::vector<std::string> appended_fields = {"appended", "when"};
}

std::vector<AbstractValue> items_of(const Appended& a) {
  auto tuple = std::make_shared<Tuple>();
  tuple->items = {AbstractValue(a.item), a.kept};
  tuple->items.insert(tuple->items.end(), a.from.begin(), a.from.end());
  tuple->fields = appended_fields;
  return {AbstractValue(TuplePtr(tuple))};
}

std::optional<Appended> appended_to(const List& list) {
  if (list.items.empty()) return std::nullopt;
  if (const auto* item = list.items[0].get<TensorPtr>();
      item && list.items.size() == 1 && !(*item)->is_scalar)
    return Appended{.item = *item};
  if (const auto* tuple = list.items[0].get<TuplePtr>();
      tuple && list.items.size() == 1 && (*tuple)->fields == appended_fields) {
    Appended a{.item = *(*tuple)->items[0].get<TensorPtr>(), .kept = (*tuple)->items[1]};
    for (std::size_t i = 2; i < (*tuple)->items.size(); ++i)
      a.from.push_back(*(*tuple)->items[i].get<TensorPtr>());
    return a;
  }
  throw unsupported(
      "a list gets {} in each step of a loop of unknown length",
      list.items.size() == 1 ? kind_name(list.items[0]) : fmt::format("{} items", list.items.size()))
      .hint("append one tensor in each step");
}

}  // namespace tenon::converter
