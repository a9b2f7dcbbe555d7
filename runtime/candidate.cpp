#include "runtime/candidate.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {

std::string scheduled(const std::string& kernel, const Schedule& schedule) {
  return schedule == Schedule{} ? kernel : fmt::format("{} ({})", kernel, schedule.str());
}

Decision least_estimate(const Group&, std::span<const CandidateInfo> candidates) {
  const auto rank = [](const CandidateInfo& c) { return std::pair(c.splits_before > 0, c.seconds); };
  const auto least = std::ranges::min_element(candidates, {}, rank);
  const auto wholes = std::ranges::count(candidates, 0U, &CandidateInfo::splits_before);
  return {static_cast<std::size_t>(least - candidates.begin()),
          wholes == 1 ? "the only candidate" : "the least estimate"};
}

}  // namespace tenon
