// The step of scatter and of index_add.
#pragma once
#include "kernels/cpu/scatter.h"
#include "runtime/planner.h"

namespace tenon {

struct Scattered {
  PlannedTensor x, indices, src;  // x dense, the others in the strides of cpu::Scatter
};
/// Makes the step; the node's result is dense. A wrong index is the step's error.
void emit_scatter_step(Planner& planner, const Node& node, const cpu::Scatter& scatter,
                       const Scattered& operands);

}  // namespace tenon
