// Making the regions of if and loop self-contained.
#pragma once
#include "ir/graph.h"

namespace tenon::converter {

/// Values from around that the regions of a node use become its operands, after those it has, and the
/// parameters of its regions that stand for these.
void capture(Node& node);

}  // namespace tenon::converter
