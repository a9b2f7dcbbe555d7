// Gives the time of fused steps back to the modules of the source model.
#pragma once
#include "runtime/plan.h"
#include "runtime/roofline.h"

namespace tenon {

/// The part that one operator has in a step's time.
struct StepPart {
  std::string module;  // "layer1.0.conv1"; empty: unknown
  std::string op;
  double share = 0;  // of the step; the parts of a step sum to 1
};

/// One part for each operator that the step computes, weighed by the least time its operations and bytes
/// could take (least_ms): an estimate, unless there is one part only. Values between the operators of a group
/// stay in registers and weigh nothing. What was folded into an operator's weights has no part. A copy
/// belongs to the operator it is made for; a step of no node has no parts.
std::vector<StepPart> parts_of(const Plan&, std::size_t step, const Peak&);

/// The first `depth` names of a module path; all of it when depth is 0.
std::string module_at_depth(std::string_view module, int depth);

}  // namespace tenon
