// The step of scatter and of index_add.
#pragma once
#include "kernels/cpu/scatter.h"
#include "runtime/planner.h"

namespace tenon {

struct Scattered {
  PlannedTensor x, indices, src;  // x as x_of_scatter has it, the others in the strides of cpu::Scatter
};
/// Of a value whose elements are known to be equal: one of them, stretched over its shape.
std::optional<PlannedTensor> element_of(Planner& planner, const Value* value);
/// Where x lies: dense, or one element.
PlannedTensor x_of_scatter(Planner& planner, const Value* x);

/// Makes the step; the node's result is dense. A wrong index is the step's error.
void emit_scatter_step(Planner& planner, const Node& node, const cpu::Scatter& scatter,
                       const Scattered& operands);

}  // namespace tenon
