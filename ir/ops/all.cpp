// Every operator, and the lookup by name.
#include <array>
#include <unordered_map>
#include <vector>

#include "ir/op.h"

namespace tenon {

// Each in the .cpp of its name; ir/CMakeLists.txt finds them.
#define FAMILY(name) std::vector<const OpInfo*> name();
#include "ir/ops/families.def"

namespace {
constexpr std::array families = {
#define FAMILY(name) name,
#include "ir/ops/families.def"
};
}  // namespace

const std::vector<const OpInfo*>& all_ops() {
  static const std::vector<const OpInfo*> ops = [] {
    std::vector<const OpInfo*> all;
    for (const auto& family : families)
      for (const OpInfo* op : family()) all.push_back(op);
    return all;
  }();
  return ops;
}

const OpInfo* find_op(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const OpInfo*> map;
    for (const OpInfo* op : all_ops()) map.emplace(op->name, op);
    return map;
  }();
  const auto it = index.find(name);
  return it == index.end() ? nullptr : it->second;
}

}  // namespace tenon
