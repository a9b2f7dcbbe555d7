#include "verify/divergence.h"

#include <algorithm>

#include "fusion/replaced.h"
#include "ir/print.h"

namespace tenon {
namespace {
constexpr double more_than_rounding = 10;
}

bool is_error(const Difference& difference, double rounding, const Tolerance& tolerance) {
  return !difference.within(std::max(tolerance.share, more_than_rounding * rounding));
}

void Search::look(const Difference& difference, const std::function<Divergence()>& where) {
  if (silent || difference.elements == 0 || difference.why_nothing().empty()) return;
  silent = where();
  silent->difference = difference;
}

void Search::add(const Difference& difference, double rounding, const Tolerance& tolerance,
                 const std::function<Divergence()>& where) {
  if (first) return;
  look(difference, where);
  const bool error = is_error(difference, rounding, tolerance);
  if (!error && largest && difference.relative() <= largest->difference.relative()) return;
  std::optional<Divergence>& found = error ? first : largest;
  found = where();
  found->difference = difference;
  found->rounding = rounding;
}

Divergence at_node(Divergence::Stage stage, const Graph& graph, const Node& node, const Graph* imported) {
  Divergence d{.stage = stage, .what = print(graph, node, {.sources = false}), .location = node.source.str()};
  const std::vector<const Node*> replaced =
      imported ? replaced_nodes(*imported, node) : std::vector<const Node*>();
  const bool itself = replaced.size() == 1 && replaced[0]->op() == node.op();
  if (!itself)
    for (const Node* n : replaced) d.replaced.push_back(print(*imported, *n, {.sources = false}));
  return d;
}

std::string_view name(Divergence::Stage stage) {
  switch (stage) {
    case Divergence::Stage::conversion: return "the conversion";
    case Divergence::Stage::fusion: return "fusion";
    default: return "a kernel";
  }
}

std::string Divergence::str() const {
  if (difference.max_error == 0 && difference.compared == 0) return difference.str();
  return fmt::format("error {:.2g} of the largest value, rounding explains {:.2g}: {}", difference.relative(),
                     rounding, difference.str());
}

}  // namespace tenon
