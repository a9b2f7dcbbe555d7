// Which steps of a plan compute the groups of one key.
#pragma once
#include <map>

#include "runtime/plan.h"

namespace tenon {

/// One group, or several that are computed by the same steps.
struct GroupPlace {
  std::string candidate;  // candidate_name of the one that was taken
  std::size_t first_step = 0, steps = 1;
  bool is_shared = false;  // with groups of other keys
};

/// By key, in the plan's order. Groups of regions and of stages that were planned so far are computed by the
/// step that runs them, groups whose step was joined by the one that it is a part of. Views and the parts of
/// split groups have no place.
std::map<std::string, std::vector<GroupPlace>> places_of(const Plan&);
/// Everything that there was to choose from, in the plan and inside of its steps.
std::vector<const Choice*> choices_of(const Plan&);

}  // namespace tenon
