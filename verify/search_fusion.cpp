#include "ir/clone.h"
#include "verify/search.h"

namespace tenon {

Search search_fusion(const Graph& imported, const ImportedValues& exact, const Graph& fused,
                     std::span<const Tensor> inputs, const Tolerance& tolerance) {
  Search search;
  const auto wide = in_float64(fused);
  auto next = fused.body().nodes().begin();
  evaluate(*wide, in_float64(inputs), [&](const Node& node, std::span<const Tensor> outputs) {
    if (&node.parent() != &wide->body()) return;
    const Node& original = **next++;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ExactValue* expected = exact.find(node.output(i)->origin);
      if (!expected) continue;
      search.add(compare(outputs[i].to(expected->value.dtype()), expected->value), expected->rounding,
                 tolerance, [&] { return at_node(Divergence::Stage::fusion, fused, original, &imported); });
    }
  });
  return search;
}

}  // namespace tenon
