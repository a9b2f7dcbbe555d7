// The whole fusion: a pipeline of passes over one graph.
#pragma once
#include <span>

#include "fusion/pass.h"

namespace tenon {

/// The passes in their order (fusion/fuse.cpp says why).
std::span<const Pass> pipeline();

/// Rewrites the graph in place: constants folded, operators raised, groups fused. Results stay equal up to
/// rounding. Every change is numbered in the report; between passes the graph is cleaned and verified.
/// Throws Error when `off` names no pass or rule.
FuseReport fuse(Graph&, const FuseOptions& = {}, std::span<const Pass> passes = pipeline());

/// Removes dead code, common subexpressions and unused weights. The driver runs it between passes.
void clean_up(Graph&);

}  // namespace tenon
