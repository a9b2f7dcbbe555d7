#include "converter/interpreter/regions.h"

#include <unordered_map>
#include <unordered_set>

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

}  // namespace tenon::converter
