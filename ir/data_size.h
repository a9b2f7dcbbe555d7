// Sizes that nodes give when they run: who gives them, who needs them.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "ir/graph.h"

namespace tenon {

/// The symbol of the size that an operator gives when it runs; nullopt: none, or it is known already.
std::optional<std::string> given_size(const Op&);

/// True when the node gives a size, or one in its regions.
bool gives_sizes(const Node&);
bool gives_sizes(const Region&);

/// Adds the symbols that must have values before the node can run: of the sizes in its attributes and the
/// types of its operands and results, regions included, but for those it gives itself.
void needed_sizes(const Node&, std::set<std::string>& into);
/// All of a region.
void needed_sizes(const Region&, std::set<std::string>& into);

}  // namespace tenon
