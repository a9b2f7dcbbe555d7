// Sums of rows by index take the gather and the weighting before them: one product of a sparse matrix, whose
// entries are the edges of a graph, and a dense one.
#include "fusion/passes.h"
#include "ir/ops/index.h"
#include "ir/ops/row_sum.h"
#include "ir/outline.h"

namespace tenon {
namespace {

constexpr std::string_view rule = "sparse product";

/// The nodes that `sum` takes with it, in graph order; itself alone when there are none.
std::vector<Node*> members_of(const Node& sum) {
  std::vector<Node*> members;
  const auto nobody_else_reads = [](const Node& n) {
    return n.num_outputs() == 1 && n.output()->uses().size() == 1;
  };
  for (const Node* member : row_sum(sum, nobody_else_reads).members)
    members.push_back(const_cast<Node*>(member));
  return members;
}

void fuse_all_sums(Rewriter& rewriter) {
  const auto& nodes = rewriter.region().nodes();
  for (auto it = nodes.begin(); it != nodes.end();) {
    const Node& sum = **it++;
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
