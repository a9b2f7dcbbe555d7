// Sizes that nodes give when they run: who gives them, who needs them.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "ir/bind.h"
#include "ir/graph.h"

namespace tenon {

/// A size that is known when a tensor is: that of one of its axes.
struct GivenSize {
  std::string symbol;
  std::size_t value, axis;  // the number of the output or parameter
};

/// The sizes that a node gives when it has run, by its outputs.
std::vector<GivenSize> given_sizes(const Node&);
/// The sizes that a node's regions are given with their parameters: of what a loop's steps change.
std::vector<GivenSize> sizes_of_parameters(const Node&);
/// Binds the sizes that these values tell.
void bind_given(const std::vector<GivenSize>&, std::span<const Tensor> values, Bindings&);

/// True when the node gives a size, or one in its regions.
bool gives_sizes(const Node&);
bool gives_sizes(const Region&);

/// Adds the symbols that must have values before the node can run: of the sizes in its attributes and the
/// types of its operands and results, regions included, but for those it gives itself.
void needed_sizes(const Node&, std::set<std::string>& into);
/// All of a region; all in a type.
void needed_sizes(const Region&, std::set<std::string>& into);
void needed_sizes(const Type&, std::set<std::string>& into);

}  // namespace tenon
