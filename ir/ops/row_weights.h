// Products that weigh the rows of a tensor, as graph networks weigh their edges.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace tenon {

/// Of mul(rows, weights) in either order, where weights [E, 1, ...] is one number for each row: which operand
/// is the rows. Of two that may be, the one that a gather made.
std::optional<std::size_t> weighted_rows(const Node& mul);

}  // namespace tenon
