#include "runtime/candidate.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {

std::string scheduled(const std::string& kernel, const Schedule& schedule) {
  return schedule == Schedule{} ? kernel : fmt::format("{} ({})", kernel, schedule.str());
}

Decision least_estimate(const Group&, std::span<const CandidateInfo> candidates) {
  const auto least =
      std::min_element(candidates.begin(), candidates.end(),
                       [](const CandidateInfo& a, const CandidateInfo& b) { return a.seconds < b.seconds; });
  return {static_cast<std::size_t>(least - candidates.begin()),
          candidates.size() == 1 ? "the only candidate" : "the least estimate"};
}

}  // namespace tenon
