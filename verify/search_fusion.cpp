#include "ir/clone.h"
#include "ir/print.h"
#include "verify/replaced.h"
#include "verify/search.h"

namespace tenon {

Search search_fusion(const Graph& imported, const ImportedValues& exact, const Graph& fused,
                     std::span<const Tensor> inputs, const Tolerance& tolerance) {
  Search search;
  const auto wide = in_float64(fused);
  evaluate(*wide, in_float64(inputs), [&](const Node& node, std::span<const Tensor> outputs) {
    if (&node.parent() != &wide->body()) return;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ExactValue* expected = exact.find(node.output(i)->origin);
      if (!expected) continue;
      Divergence d{.stage = Divergence::Stage::fusion,
                   .what = print(*wide, node, {.sources = false}),
                   .place = node.source.str(),
                   .difference = compare(outputs[i].to(expected->value.dtype()), expected->value),
                   .rounding = expected->rounding};
      for (const Node* n : replaced_nodes(imported, node))
        d.replaced.push_back(print(imported, *n, {.sources = false}));
      search.add(std::move(d), tolerance);
    }
  });
  return search;
}

}  // namespace tenon
