// The makers of steps: one file of this folder for each family of kernels.
#pragma once
#include "runtime/planner.h"

namespace tenon {

bool make_view(Planner&, const Group&);    // view.cpp: reshape, permute, slice, expand, flip
bool make_concat(Planner&, const Group&);  // concat.cpp
bool make_conv(Planner&, const Group&);    // conv.cpp
bool make_conv_transpose(Planner&, const Group&);
bool make_pool(Planner&, const Group&);       // pool.cpp
bool make_linear(Planner&, const Group&);     // matmul.cpp: linear, and matmul with a constant matrix
bool make_matmul(Planner&, const Group&);     // batched_matmul.cpp
bool make_attention(Planner&, const Group&);  // attention.cpp
bool make_gather(Planner&, const Group&);     // gather.cpp: index_select and index along one axis
bool make_index_add(Planner&, const Group&);  // aggregate.cpp: sums of rows by index, as sparse times dense
bool make_pad(Planner&, const Group&);        // pad.cpp: pad, and interpolate by whole factors
bool make_repeat(Planner&, const Group&);
bool make_if(Planner&, const Group&);         // control.cpp
bool make_iteration(Planner&, const Group&);  // control.cpp: loop
bool make_loop(Planner&, const Group&);       // loop.cpp: pointwise operators and row reductions
bool make_reference(Planner&, const Group&);  // reference.cpp: any operator with a reference

// The operators that these plan on their own.
bool is_view(const Op&);
bool is_loop(const Op&);
bool has_reference(const Op&);

/// copy.cpp: copies elements between places of one type and shape.
std::unique_ptr<Step> make_copy(const PlannedTensor& from, const PlannedTensor& to);

}  // namespace tenon
