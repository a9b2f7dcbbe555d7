// Reads the text form of a graph (ir/print.h).
#pragma once
#include <memory>
#include <string_view>

#include "ir/graph.h"

namespace tenon {

/// Types of results may be left out; those written in the text are checked against inference. Weights have no
/// data afterwards (see Graph::set_weight_data). Throws Error with line and column: an unknown operator or
/// name, a type that does not follow, a text that is cut.
std::unique_ptr<Graph> parse(std::string_view text);

}  // namespace tenon
