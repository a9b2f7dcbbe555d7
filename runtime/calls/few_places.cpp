#include "runtime/calls/few_places.h"

#include "ir/ops/index.h"

namespace tenon {
namespace {

std::int64_t count(const Value& value) { return numel(value.shape()).value(); }

/// So many elements are joined at most: of an index_put, every index meets every other one.
std::int64_t joined_elements(const Node& node) {
  if (node.is<IndexAdd>()) return count(*node.input(2));
  if (const auto* scatter = node.as<Scatter>()) {
    const bool joins = scatter->reduce != ScatterReduce::none && scatter->reduce != ScatterReduce::mean;
    return joins ? count(*node.input(2)) : 0;
  }
  const auto* put = node.as<IndexPut>();
  if (!put || !put->accumulate) return 0;
  std::int64_t elements = count(*node.input(0));
  for (std::size_t i = 0; i < put->axes.size(); ++i) {
    elements /= node.input(0)->shape()[static_cast<std::size_t>(put->axes[i])].value();
    elements *= count(*node.input(2 + i));
  }
  return elements;
}

}  // namespace

bool joins_few_halves(const Node& node) {
  if (node.inputs().empty()) return false;
  const Value& x = *node.input(0);
  if ((x.dtype() != DType::f16 && x.dtype() != DType::bf16) || count(x) == 0) return false;
  constexpr std::int64_t few = 32;  // of so many
  const std::int64_t joined = joined_elements(node);
  return joined > 0 && joined <= count(x) / few;
}

}  // namespace tenon
