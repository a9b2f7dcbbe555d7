// What every device has for groups of any operators: views, and the interpreter.
#pragma once
#include "runtime/planner.h"

namespace tenon {

std::vector<Candidate> lower_view(const Planner&, const Group&);  // reshape, permute, slice, expand, flip
std::vector<Candidate> lower_reference(const Planner&, const Group&);

// The operators that these compute on their own.
bool is_view(const Op&);
bool has_reference(const Op&);

}  // namespace tenon
