// Reverse-mode differentiation: a graph's values in, nodes that compute the gradients out.
#pragma once
#include <span>
#include <vector>

#include "ir/build.h"

namespace tenon {

/// Adds, at the place of the seeds, nodes that compute d(sum over i of results[i] * seeds[i]) / d wrt[j] for
/// each j: a gradient has the type of its value, and is empty where none of the results depends on it. The
/// results and their producers are in one region, before the place. Pointwise operators are differentiated as
/// expressions, composites by their parts, kernels by their own rule; integers and bool carry no gradient.
/// Throws Error (unsupported) naming an operator on the way that has no gradient.
std::vector<Ref> gradient(std::span<const Ref> results, std::span<const Ref> seeds, std::span<const Ref> wrt);

/// A copy of the graph whose outputs are followed by the gradients of their sum with respect to each float
/// input.
std::unique_ptr<Graph> gradient_graph(const Graph&);

}  // namespace tenon
