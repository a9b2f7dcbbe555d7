#include "ir/ops/row_sum.h"

#include <algorithm>
#include <optional>

#include "ir/ops/arithmetic.h"
#include "ir/ops/shape.h"
#include "ir/ops/slices_by_index.h"

namespace tenon {
namespace {

using Takes = std::function<bool(const Node&)>;

bool names_rows(const Node& n) {
  const auto slices = slices_by_index(n);
  return slices && slices->axis == 0 && n.input(1)->rank() == 1;
}

bool weighs(const Value& weight, const Value& rows) {
  const Shape& shape = weight.shape();
  if (shape.empty() || shape.size() != rows.rank() || weight.dtype() != rows.dtype()) return false;
  const auto first_other = std::mismatch(shape.begin(), shape.end(), rows.shape().begin()).first;
  return first_other != shape.begin() &&
         std::all_of(first_other, shape.end(), [](const Dim& d) { return d == 1; });
}

/// The node that computes v, behind reshapes that leave the rows whole. The reshapes go to `skipped`.
const Node* producer(const Value* v, const Takes& takes, std::vector<const Node*>& skipped) {
  const Node* node = v->node();
  while (node && node->is<Reshape>() && takes(*node) && node->input()->rank() > 0 &&
         node->input()->shape()[0] == node->output()->shape()[0]) {
    skipped.push_back(node);
    node = node->input()->node();
  }
  return node && takes(*node) ? node : nullptr;
}

bool is_gathered(const Value* v, const Takes& takes) {
  std::vector<const Node*> skipped;
  const Node* node = producer(v, takes, skipped);
  return node && names_rows(*node);
}

/// Which operand of a product is the rows: one that a gather made, or that has more elements than its
/// weights.
std::optional<std::size_t> rows_of(const Node& mul, const Takes& takes) {
  std::optional<std::size_t> found;
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const Value &rows = *mul.input(i), &weights = *mul.input(1 - i);
    if (rows.shape() != mul.output()->shape() || !weighs(weights, rows)) continue;
    if (is_gathered(&rows, takes)) return i;
    if (weights.shape() != rows.shape()) found = i;
  }
  return found;
}

}  // namespace

RowSum row_sum(const Node& sum, const std::function<bool(const Node&)>& takes) {
  RowSum found{.rows = sum.input(2), .members = {&sum}};
  std::vector<const Node*> behind;  // the node that is looked at, and the reshapes after it
  const auto next = [&] {
    behind.clear();
    return producer(found.rows, takes, behind);
  };
  const auto take = [&](const Node& node, const Value* rows) {
    found.members.insert(found.members.end(), behind.begin(), behind.end());
    found.members.push_back(&node);
    found.rows = rows;
  };
  const Node* node = next();
  if (node && node->is<Mul>()) {
    const auto rows = rows_of(*node, takes);
    if (rows) {
      found.weights = node->input(1 - *rows);
      take(*node, node->input(*rows));
      node = next();
    }
  }
  if (node && names_rows(*node)) {
    found.sources = node->input(1);
    found.sources_from_end = slices_by_index(*node)->from_end;
    take(*node, node->input(0));
  }
  std::reverse(found.members.begin(), found.members.end());
  return found;
}

}  // namespace tenon
