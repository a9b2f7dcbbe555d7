#include "ir/ops/row_weights.h"

#include <algorithm>

#include "ir/ops/slices_by_index.h"

namespace tenon {
namespace {

bool weighs(const Value& weight, const Value& rows) {
  const Shape& shape = weight.shape();
  return weight.rank() == rows.rank() && weight.rank() > 0 && weight.dtype() == rows.dtype() &&
         shape[0] == rows.shape()[0] &&
         std::all_of(shape.begin() + 1, shape.end(), [](const Dim& d) { return d == 1; });
}

bool is_gathered(const Value& v) { return v.node() && slices_by_index(*v.node()); }

}  // namespace

std::optional<std::size_t> weighted_rows(const Node& mul) {
  std::optional<std::size_t> found;
  for (const std::size_t rows : {std::size_t{0}, std::size_t{1}}) {
    const bool fits =
        weighs(*mul.input(1 - rows), *mul.output()) && mul.input(rows)->shape() == mul.output()->shape();
    if (fits && (!found || is_gathered(*mul.input(rows)))) found = rows;
  }
  return found;
}

}  // namespace tenon
