// Convolutions that read and write bfloat16 as it lies in memory.
#pragma once
#include "ir/graph.h"

namespace tenon {

class Group;

/// Is this member of a group a convolution of bfloat16 by weights that are known, with one group of channels?
bool reads_halves(const Node& member, const Group& group);
/// Is it one whose sums are short enough to be rounded as soon as they are there?
bool writes_halves(const Node& member, const Group& group);
/// The value of bfloat16 that a float32 operator reads by a cast of its own; null: it reads another.
const Value* widened_for(const Node& node);

}  // namespace tenon
