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
  if (d.elements > 0 || output->why.empty()) output->why = d.why_nothing();
  differs_ = differs_ || !check.ok;
}

void Verdict::add(std::span<const OutputCheck> checks) {
  for (const OutputCheck& c : checks) add(c);
}

std::string Verdict::problem() const {
  std::vector<std::string> silent;
  bool any = false;
  for (const Output& o : outputs_) {
    any = any || o.compared;
    if (!o.compared && o.has_elements)
      silent.push_back(fmt::format("nothing of output {} was compared: {}", o.name, o.why));
  }
  if (!silent.empty()) return fmt::format("{}", fmt::join(silent, "; "));
  return any ? "" : "nothing was compared: the outputs have no elements";
}

std::vector<std::string> Verdict::notes() const {
  std::vector<std::string> notes;
  for (const Output& o : outputs_)
    if (!o.has_elements)
      notes.push_back(fmt::format("output {} is empty: nothing of it was compared", o.name));
  return notes;
}

}  // namespace tenon
