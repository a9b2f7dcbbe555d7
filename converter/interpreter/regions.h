// Making the regions of if and loop self-contained.
#pragma once
#include <optional>
#include <set>

#include "base/error.h"
#include "converter/builder.h"

namespace tenon::converter {

/// Captures outer values: each value from outside that a region of the node uses becomes an operand of the
/// node, behind those it has, and a parameter of its regions.
void capture(Node& node);

/// The sizes that nodes of a region give, inner regions included.
std::set<std::string> inner_sizes(const Region&);

/// Thrown by a loop body when it needs to know something about a list first: that only some steps append to
/// it, or how long it is.
struct ListGrows : Error {
  ListGrows(ListPtr grown, const std::string& what, bool asks_length = false)
      : Error(what, Exit::unsupported), list(std::move(grown)), length(asks_length) {}
  ListPtr list;
  bool length;
};

/// What a step of a loop of unknown length appends to a list: one tensor, under a condition.
struct Appended {
  TensorPtr item;
  AbstractValue kept = AbstractValue(true);
  std::vector<TensorPtr> from;  // whose memory it may share
};
/// The item that represents it in the growing list.
std::vector<AbstractValue> items_of(const Appended&);
/// nullopt for nothing. Throws Error(unsupported) for what is not one tensor.
std::optional<Appended> appended_to(const List&);

}  // namespace tenon::converter
