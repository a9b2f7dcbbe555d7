// In-place spellings follow from the functional operators: of every in-place signature that PyTorch has.
#include "converter/aten/spelling.h"

#include <gtest/gtest.h>

#include <set>

#include "converter/aten/call.h"
#include "converter/exported/schemas.h"

namespace tenon::converter {
namespace {

struct Name {
  std::string name, overload;
};

Name name_of(std::string_view schema) {
  const std::string_view key = schema.substr(0, schema.find('(')).substr(6);  // behind "aten::"
  const std::size_t dot = key.find('.');
  return {std::string(key.substr(0, dot)),
          std::string(dot == std::string_view::npos ? "" : key.substr(dot + 1))};
}

/// "relu" of "relu_", "__and__" of "__iand__"; empty for other names.
std::string functional(const std::string& name) {
  if (name.starts_with("__i") && name.ends_with("__")) return "__" + name.substr(3);
  return name.ends_with('_') && !name.ends_with("__") ? name.substr(0, name.size() - 1) : "";
}

bool has_overload(const std::string& name, const std::string& overload) {
  for (const std::string_view key : exported::overloads_of("aten::" + name))
    if (name_of(key).overload == overload) return true;
  return false;
}

TEST(Spelling, InPlaceOperatorsAreServedByTheFunctionalOnes) {
  std::set<std::string> not_served;
  int served = 0;
  for (const std::string_view schema : exported::schemas_of("aten::")) {
    if (schema.find("(a!)") == std::string_view::npos) continue;
    const Name in_place = name_of(schema);
    const std::string name = functional(in_place.name);
    if (name.empty() || exported::overloads_of("aten::" + name).empty()) continue;
    const Spelling* spelling = find_spelling(in_place.name, in_place.overload);
    const bool found = spelling && has_overload(spelling->name, spelling->overload);
    if (found && is_aten_implemented(spelling->name, spelling->overload)) {
      EXPECT_TRUE(is_aten_implemented(in_place.name, in_place.overload)) << schema;
      ++served;
    }
    if (!found) not_served.insert(in_place.name);
  }
  EXPECT_GT(served, 250);
  // Overloads that no functional operator has: other signatures of copies, and of what replaces a tensor.
  EXPECT_EQ(not_served, (std::set<std::string>{"_index_put_impl_", "copy_", "normal_", "set_"}));
}

}  // namespace
}  // namespace tenon::converter
