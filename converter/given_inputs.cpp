#include "converter/given_inputs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace tenon::converter {

const InputSpec* GivenInputs::taken_by(const std::string& input, std::string_view name) {
  for (std::size_t i = 0; i < takers_.size(); ++i) {
    if (!takers_[i].empty() || printable(options_.inputs[i].name) != name) continue;
    takers_[i] = printable(input);
    return &options_.inputs[i];
  }
  return nullptr;
}

const InputSpec* GivenInputs::take(const std::string& input, bool in_order) {
  if (const InputSpec* named = taken_by(input, printable(input))) return named;
  return in_order ? taken_by(input, "") : nullptr;
}

std::vector<std::string> GivenInputs::items_of(const std::string& input) const {
  std::vector<std::string> names;
  for (const InputSpec& s : options_.inputs)
    if (s.name.starts_with(input + ".")) names.push_back(s.name);
  return names;
}

void GivenInputs::check_all_taken(std::string_view model, const std::vector<std::string>& names) const {
  const auto& inputs = options_.inputs;
  for (std::size_t i = 0; i < inputs.size() && !options_.others_take; ++i) {
    if (!takers_[i].empty()) continue;
    const std::string name = printable(inputs[i].name);
    const bool is_twice = std::find(takers_.begin(), takers_.end(), name) != takers_.end();
    const std::string known = names.empty()
                                  ? "it has no inputs"
                                  : "its inputs are " + printable(fmt::format("{}", fmt::join(names, ", ")));
    if (name.empty()) throw error("more inputs are given than {} takes", model).hint(known);
    if (is_twice) throw error("input {} is given twice", name);
    throw error("{} has no input '{}'", model, name).hint(known);
  }
}

}  // namespace tenon::converter
