// Which axes of a group's values run together: the loop dims of its loop program.
#pragma once
#include <optional>
#include <unordered_map>

#include "runtime/group.h"

namespace tenon {

/// Axes that broadcasting, reductions, permutes and squeezes make equal form one class; a class is a dim of
/// the loop. Reduced dims come last. An axis of size 1 belongs to no dim.
struct LoopAxes {
  Index sizes;      // of the dims
  int reduced = 0;  // how many of the last dims the group's reductions run over
  std::unordered_map<const Value*, std::vector<int>> dims;  // for each axis of a value its dim, or -1

  /// The stride of each dim for a value that lies at `place`.
  Index strides(const Value* value, const Strided& place) const;
  /// The same for what a member gathers from: of the axes that are read in place.
  Index gather_strides(const Node& member, const Strided& place) const;
};

/// True for members that read their first operand at other indices than they compute: those of a tensor
/// (slices_by_index), or fixed ones (mapped_axes).
bool gathers(const Node& member);
/// For each axis of that operand: the axis of the result along which it is read in place, if there is one.
std::vector<std::optional<std::size_t>> gathered_axes(const Node& member);

/// nullopt, with the reason in `why`, when the group is not one loop: it holds an operator that is not
/// pointwise, a row reduction or a change of axes, or values that would be computed again and again.
std::optional<LoopAxes> find_loop_axes(const Group& group, std::string& why);

}  // namespace tenon
