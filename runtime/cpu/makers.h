// The makers of the CPU's steps: one file of this folder for each family of kernels.
#pragma once
#include "runtime/planner.h"

namespace tenon {

bool make_conv(Planner&, const Group&);  // conv.cpp
bool make_conv_transpose(Planner&, const Group&);
bool make_pool(Planner&, const Group&);       // pool.cpp
bool make_linear(Planner&, const Group&);     // matmul.cpp: linear, and matmul with a constant matrix
bool make_matmul(Planner&, const Group&);     // batched_matmul.cpp
bool make_attention(Planner&, const Group&);  // attention.cpp
bool make_gather(Planner&, const Group&);     // gather.cpp: index_select and index along one axis
bool make_index_add(Planner&, const Group&);  // aggregate.cpp: sums of rows by index, as sparse times dense
bool make_loop(Planner&, const Group&);       // loop.cpp: pointwise operators and row reductions

/// The operators that make_loop plans on their own.
bool is_loop(const Op&);

std::unique_ptr<Step> make_copy(const PlannedTensor& from, const PlannedTensor& to);

}  // namespace tenon
