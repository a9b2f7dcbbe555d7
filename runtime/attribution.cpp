// Estimates of what each operator of a step costs.
#include "runtime/attribution.h"

#include <set>

#include "ir/flops.h"
#include "runtime/group.h"

namespace tenon {
namespace {

double bytes(const Value* v) { return elements(v->type()) * static_cast<double>(size_of(v->dtype())); }

/// Bytes of each member: operands from outside are read by whoever uses them first.
std::vector<double> bytes_of(const Group& group) {
  std::vector<double> moved;
  std::set<const Value*> seen;
  for (const Node* m : group.members()) {
    double sum = 0;
    for (const Value* v : m->inputs())
      if (!group.contains(v) && seen.insert(group.outer(v)).second) sum += bytes(v);
    for (const Value* result : group.results())
      if (result->node() == m) sum += bytes(result);
    moved.push_back(sum);
  }
  return moved;
}

// What a convolution took in (a batch_norm) stands behind its own module and costs nothing. What was raised
// from operators of several modules belongs to all of them.
std::string module_of(const Node& node) {
  if (node.source.modules.empty()) return "";
  return node.op().info().op_kind == OpKind::reference ? node.source.modules.front()
                                                       : node.source.modules_text();
}

}  // namespace

std::vector<StepPart> parts_of(const Plan& plan, std::size_t step, const Peak& peak) {
  if (!plan.nodes[step]) return {};
  const Group group(*plan.nodes[step]);
  const auto module = [&](const Node& member) {
    return module_of(member.source.modules.empty() ? group.node() : member);
  };
  if (plan.steps[step]->info.kind == StepKind::copy) return {{module(*group.members().front()), "copy", 1}};
  if (plan.takes_values())
    return {{module(*group.members().front()), std::string(group.node().op().name()), 1}};
  const std::vector<double> moved = bytes_of(group);
  std::vector<StepPart> parts;
  double sum = 0;
  for (std::size_t i = 0; i < group.members().size(); ++i) {
    const Node& member = *group.members()[i];
    parts.push_back({module(member), std::string(member.op().name()),
                     least_ms(peak, plan.steps[step]->info.arithmetic, flops(member), moved[i])});
    sum += parts.back().share;
  }
  for (StepPart& p : parts) p.share = sum > 0 ? p.share / sum : 1 / static_cast<double>(parts.size());
  return parts;
}

std::string module_at_depth(std::string_view module, int depth) {
  std::size_t end = 0;
  for (int i = 0; i < depth && end != std::string_view::npos; ++i)
    end = module.find_first_of(".,{", i == 0 ? 0 : end + 1);
  std::string path(depth == 0 ? module : module.substr(0, end));
  if (path.ends_with('.')) path.pop_back();
  return path;
}

}  // namespace tenon
