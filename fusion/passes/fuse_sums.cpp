// Sums of rows by index take the gather and the weighting before them: one product of a sparse matrix, whose
// entries are the edges of a graph, and a dense one.
#include <algorithm>

#include "fusion/outline.h"
#include "fusion/passes.h"
#include "ir/ops/arithmetic.h"
#include "ir/ops/index.h"
#include "ir/ops/row_weights.h"
#include "ir/ops/slices_by_index.h"

namespace tenon {
namespace {

constexpr std::string_view rule = "sparse product";

/// The node that computes v, if nobody else reads it.
Node* sole_producer(const Value* v) { return v->uses().size() == 1 ? v->node() : nullptr; }

/// The nodes that `sum` takes with it, in graph order; itself alone when there are none.
std::vector<Node*> members_of(Node& sum) {
  std::vector<Node*> members{&sum};
  const Value* rows = sum.input(2);
  if (Node* mul = sole_producer(rows); mul && mul->is<Mul>()) {
    const auto weighted = weighted_rows(*mul);
    if (!weighted) return members;
    members.push_back(mul);
    rows = mul->input(*weighted);
  }
  Node* gather = sole_producer(rows);
  const auto slices = gather ? slices_by_index(*gather) : std::nullopt;
  if (slices && slices->axis == 0 && gather->input(1)->rank() == 1 &&
      gather->input(1)->dtype() == sum.input(1)->dtype())
    members.push_back(gather);
  std::reverse(members.begin(), members.end());
  return members;
}

void fuse_all_sums(Rewriter& rewriter) {
  const auto& nodes = rewriter.region().nodes();
  for (auto it = nodes.begin(); it != nodes.end();) {
    Node& sum = **it++;
    const auto* op = sum.as<IndexAdd>();
    if (!op || op->axis != 0 || sum.output()->dtype() != DType::f32) continue;
    const std::vector<Node*> members = members_of(sum);
    if (members.size() == 1 || !rewriter.allowed(rule, sum)) continue;
    const Node* fused = outline(members);
    rewriter.record(rule, fused->source, fused);
  }
}

}  // namespace

Pass fuse_sums() { return {.name = "fuse_sums", .rules = {rule}, .run = fuse_all_sums, .groups = true}; }

}  // namespace tenon
