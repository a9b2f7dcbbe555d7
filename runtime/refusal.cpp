#include "runtime/refusal.h"

#include <fmt/format.h>

#include "base/count.h"
#include "ir/ops/data_size.h"
#include "runtime/group.h"

namespace tenon {
namespace {

// What has no operands is known when the sizes are. The host reads the number of a count_up (stages.h);
// count_sizes left the other operators that give sizes as they are.
bool computes(const Device& device, const Node& node) {
  if (node.inputs().empty() || node.is<CountUp>()) return true;
  const std::string_view runs = device.runs(node.op());
  return node.op().info().gives_size ? runs == "reference" || runs == "kernel" : runs != "nothing";
}

void collect(const Region& region, const Device& device, Refusal& found) {
  for (const auto& node : region.nodes()) {
    for (const auto& inner : node->regions()) collect(*inner, device, found);
    if (node->regions().empty() && !computes(device, *node)) found.add(*node);
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
