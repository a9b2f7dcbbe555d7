// The general lowering of the CPU.
#pragma once
#include "runtime/planner.h"

namespace tenon {

std::vector<Candidate> lower_loop(const Planner&, const Group&);

}  // namespace tenon
