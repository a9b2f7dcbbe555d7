#include "runtime/refusal.h"

#include <fmt/format.h>

#include "base/count.h"
#include "ir/ops/data_size.h"
#include "runtime/group.h"

namespace tenon {
namespace {

// What has no operands is known when the sizes are; the host reads the number of a count_up (stages.h).
void collect(const Region& region, const Device& device, Refusal& found) {
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions()) collect(*inner, device, found);
    const bool is_kernels = node->regions().empty() && !node->inputs().empty() && !node->is<CountUp>();
    if (is_kernels && device.runs(node->op()) == "nothing") found.add(*node);
  }
}

}  // namespace

void Refusal::add(const Node& node) {
  const std::string source = node.source.str();
  lines_.push_back(Group(node).text() + (source.empty() ? "" : fmt::format("  ({})", source)));
}

void Refusal::add(const Refusal& other) {
  lines_.insert(lines_.end(), other.lines_.begin(), other.lines_.end());
}

Error Refusal::error(const Device& device) const {
  std::string text;
  for (const std::string& line : lines_) text += "\n  " + line;
  Error error =
      unsupported("{} has no kernel for {}:{}", device.name, counted(lines_.size(), "operator"), text);
  if (!device.advice.empty()) error.hint(std::string(device.advice));
  return error;
}

Refusal refused(const Region& region, const Device& device) {
  Refusal found;
  collect(region, device, found);
  return found;
}

}  // namespace tenon
