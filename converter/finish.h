// The last steps of every conversion.
#pragma once
#include "ir/graph.h"

namespace tenon::converter {

/// Drops what nobody reads, verifies the graph and numbers its values.
void finish(Graph&);

}  // namespace tenon::converter
