// Making the regions of if and loop self-contained.
#pragma once
#include <optional>
#include <set>

#include "base/error.h"
#include "converter/builder.h"

namespace tenon::converter {

/// Values from around that the regions of a node use become its operands, after those it has, and the
/// parameters of its regions that stand for these.
void capture(Node& node);

/// The sizes that nodes of a region give, inner regions included.
std::set<std::string> inner_sizes(const Region&);

/// What a loop must know of a list before its body can run: that only some steps append to it, or how long it
/// is.
struct ListGrows : Error {
  ListGrows(ListPtr grown, const std::string& what, bool asks_length = false)
      : Error(what, Exit::unsupported), list(std::move(grown)), length(asks_length) {}
  ListPtr list;
  bool length;
};

/// What a step of a loop of unknown length appends to a list: one tensor, under a condition.
struct Appended {
  TensorPtr item;
  Datum kept = Datum(true);
  std::vector<TensorPtr> from;  // whose memory it may share
};
/// The one item that says it, in a list that grows.
std::vector<Datum> items_of(const Appended&);
/// nullopt for nothing. Throws Error(unsupported) for what is not one tensor.
std::optional<Appended> appended_to(const List&);

}  // namespace tenon::converter
