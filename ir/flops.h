// How much arithmetic a node is, by the definition of its operator: for plans, summaries and estimates.
#pragma once
#include "ir/graph.h"

namespace tenon {

/// Arithmetic operations of one evaluation: a multiply-add counts two, a comparison or a function such as
/// exp one, a conversion or a movement of data none. A composite is the sum of its parts, a fused group that
/// of its members. It counts what the operator means: kernels such as Winograd's do fewer. Sizes must be
/// known (specialize); what has one that is given inside a branch or a loop counts as none.
double flops(const Node&);

}  // namespace tenon
