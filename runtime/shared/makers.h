// Makers that every device has: views and copies, control flow, the interpreter.
#pragma once
#include "runtime/planner.h"

namespace tenon {

bool make_view(Planner&, const Group&);    // view.cpp: reshape, permute, slice, expand, flip
bool make_concat(Planner&, const Group&);  // concat.cpp
bool make_pad(Planner&, const Group&);     // pad.cpp: pad, and interpolate by whole factors
bool make_repeat(Planner&, const Group&);
bool make_if(Planner&, const Group&);         // control.cpp
bool make_iteration(Planner&, const Group&);  // control.cpp: loop
bool make_reference(Planner&, const Group&);  // reference.cpp: any operator with a reference

// The operators that these plan on their own.
bool is_view(const Op&);
bool has_reference(const Op&);

}  // namespace tenon
