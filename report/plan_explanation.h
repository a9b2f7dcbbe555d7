// What --explain-plan prints.
#pragma once
#include <string>

#include "runtime/plan.h"

namespace tenon {

/// For each choice that added steps: the candidates with what was estimated of them, which was taken and why.
/// Steps without a choice are named. Plans of regions and stages stand below the step that runs them.
std::string explanation(const Plan&);

}  // namespace tenon
