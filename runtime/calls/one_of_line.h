// A sort or top-k of which one element of each line is read, whatever the device.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace tenon {

struct OneOfLine {
  const Value* ranks = nullptr;  // of that element, i64, one for each line; null: the last of top-k
};
/// nullopt: the node is none, or more is read.
std::optional<OneOfLine> one_of_line(const Node& node);

}  // namespace tenon
