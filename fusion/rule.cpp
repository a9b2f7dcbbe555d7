#include "fusion/rule.h"

#include <fmt/format.h>

#include <set>
#include <unordered_set>

#include "base/error.h"
#include "ir/ops/control.h"

namespace tenon {
namespace {

// The node and what was computed for it alone.
void erase_dead(Node* root) {
  std::vector<Node*> candidates = {root};
  std::unordered_set<const Node*> erased;
  while (!candidates.empty()) {
    Node* node = candidates.back();
    candidates.pop_back();
    if (erased.contains(node) || !is_dead(*node)) continue;
    for (const Value* v : node->inputs())
      if (v->node()) candidates.push_back(v->node());
    erased.insert(node);
    node->parent().erase(node);
  }
}

bool apply_one(Rewriter& rewriter, const Rule& rule, Node& node) {
  for (const Pattern& pattern : rule.patterns) {
    const std::optional<Match> m = match(pattern, node);
    if (!m || !rule.when(*m)) continue;
    if (std::string why = rule.refuse(*m); !why.empty()) {
      rewriter.refuse(rule.name, node, std::move(why));
      continue;
    }
    if (!rewriter.allowed(rule.name, node)) return false;
    const InsertionPoint point{&node.parent(), &node, m->source()};
    const Ref result = rule.build(*m, point);
    TENON_CHECK(result.type() == node.output()->type());
    replace_all_uses(node.output(), result.value());
    rewriter.record(rule.name, point.source, result.value()->node());
    erase_dead(&node);
    return true;
  }
  return false;
}

// The rules that changed the region.
std::vector<std::string_view> sweep(Rewriter& rewriter, std::span<const Rule> rules) {
  std::vector<std::string_view> changed;
  const auto& nodes = rewriter.region().nodes();
  for (auto it = nodes.begin(); it != nodes.end();) {
    Node& node = **it++;
    if (node.num_outputs() != 1 || node.output()->uses().empty()) continue;
    for (const Rule& rule : rules) {
      if (!apply_one(rewriter, rule, node)) continue;
      changed.push_back(rule.name);
      break;
    }
  }
  return changed;
}

}  // namespace

std::vector<std::string_view> names(std::span<const Rule> rules) {
  std::vector<std::string_view> out;
  for (const Rule& r : rules) out.push_back(r.name);
  return out;
}

void apply_rules(Rewriter& rewriter, std::span<const Rule> rules) {
  constexpr std::size_t sweeps_at_least = 1000;
  const std::size_t most = sweeps_at_least + rewriter.region().nodes().size();
  for (std::size_t i = 0;; ++i) {
    const std::vector<std::string_view> changed = sweep(rewriter, rules);
    if (changed.empty()) return;
    if (i < most) continue;
    const std::set<std::string_view> endless(changed.begin(), changed.end());
    throw InternalError(fmt::format("these rules undo each other: {}", fmt::join(endless, ", ")));
  }
}

}  // namespace tenon
