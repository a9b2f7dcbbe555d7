#include "verify/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace tenon {

void Verdict::add(const OutputCheck& check) {
  auto output =
      std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& o) { return o.name == check.name; });
  if (output == outputs_.end()) output = outputs_.insert(output, {.name = check.name, .why = {}});
  const Difference& d = check.difference;
  output->compared = output->compared || d.compared > 0;
  output->has_elements = output->has_elements || d.elements > 0;
  if (!is_string(check.expected_dtype) && !check.types_only) {
    output->silent += d.elements - d.compared;
    output->elements += d.elements;
  }
  output->types_only = output->types_only || check.types_only;
  output->is_zero = output->is_zero && d.scale == 0 && !is_string(check.expected_dtype);
  if (d.elements > 0 || output->why.empty()) output->why = d.why_nothing();
  differs_ = differs_ || !check.ok;
}

void Verdict::add(std::span<const OutputCheck> checks) {
  for (const OutputCheck& c : checks) add(c);
}

bool Verdict::has_elements() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const Output& o) { return o.has_elements; });
}

bool Verdict::compared_numbers() const {
  return std::any_of(outputs_.begin(), outputs_.end(), [](const Output& o) { return o.compared; });
}

std::string Verdict::types_only() const {
  std::vector<std::string_view> names;
  for (const Output& o : outputs_)
    if (o.types_only) names.push_back(o.name);
  return names.empty()
             ? ""
             : fmt::format("types and sizes only: random numbers decide {}", fmt::join(names, ", "));
}

std::string Verdict::str() const {
  if (differs_) return "DIFFERS";
  if (const std::string why = problem(); !why.empty()) return "NOT VERIFIED: " + why;
  const std::string types = types_only();
  if (!compared_numbers()) return types;
  return types.empty() ? "verified" : "verified; " + types;
}

std::string Verdict::problem() const {
  std::vector<std::string> silent;
  bool any = false;
  for (const Output& o : outputs_) {
    any = any || o.compared || o.types_only;
    if (!o.compared && o.has_elements && !o.types_only)
      silent.push_back(fmt::format("nothing of output {} was compared: {}", o.name, o.why));
  }
  if (!silent.empty()) return fmt::format("{}", fmt::join(silent, "; "));
  return any ? "" : "nothing was compared: the outputs have no elements";
}

std::vector<std::string> Verdict::notes() const {
  std::vector<std::string> notes;
  for (const Output& o : outputs_)
    if (!o.has_elements && !o.types_only)
      notes.push_back(fmt::format("output {} is empty: nothing of it was compared", o.name));
    else if (o.compared && o.silent > 0)
      notes.push_back(
          fmt::format("{} of {} values of output {} are NaN or infinite: the others were compared", o.silent,
                      o.elements, o.name));
    else if (o.compared && o.is_zero)
      notes.push_back(
          fmt::format("output {} is zero throughout: other inputs may say more (--input)", o.name));
  return notes;
}

}  // namespace tenon
