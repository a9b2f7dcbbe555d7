#include "runtime/candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "runtime/buffers.h"
#include "runtime/constant_value.h"
#include "runtime/group.h"

namespace tenon {

std::string scheduled(const std::string& kernel, const Schedule& schedule) {
  return schedule == Schedule{} ? kernel : fmt::format("{} ({})", kernel, schedule.str());
}

namespace {

// By rank; `why` where there are several of the group as a whole.
template <class Rank>
Decision least(std::span<const CandidateInfo> candidates, const Rank& rank, const char* why) {
  const auto found = std::ranges::min_element(candidates, {}, rank);
  const auto wholes = std::ranges::count(candidates, 0U, &CandidateInfo::splits_before);
  return {static_cast<std::size_t>(found - candidates.begin()), wholes == 1 ? "the only candidate" : why};
}

}  // namespace

Decision least_estimate(const Group&, std::span<const CandidateInfo> candidates) {
  const auto rank = [](const CandidateInfo& c) { return std::pair(c.splits_before > 0, c.seconds); };
  return least(candidates, rank, "the least estimate");
}

Decision weights_once(const Group& group, std::span<const CandidateInfo> candidates) {
  std::size_t weights = 0;
  for (const Value* operand : group.operands())
    if (ConstantValue(group.outer(operand)).is_constant())
      weights += static_cast<std::size_t>(bytes_of(operand->type()));
  const std::size_t packed = std::ranges::min(candidates, {}, &CandidateInfo::weight_bytes).weight_bytes;
  const std::size_t bytes = std::max(weights, packed);
  const std::size_t allowed = bytes + bytes / 4;
  const auto rank = [&](const CandidateInfo& c) {
    return std::tuple(c.weight_bytes > allowed, c.splits_before > 0, c.seconds);
  };
  return least(candidates, rank, "of those that keep each weight once");
}

Decision least_weights(const Group&, std::span<const CandidateInfo> candidates) {
  constexpr double slow = 4;
  const double limit = slow * std::ranges::min(candidates, {}, &CandidateInfo::seconds).seconds;
  const auto counts = [&](const CandidateInfo& c) { return c.splits_before == 0 && c.seconds <= limit; };
  std::size_t allowed = std::numeric_limits<std::size_t>::max();
  for (const CandidateInfo& c : candidates)
    if (counts(c)) allowed = std::min(allowed, c.weight_bytes + c.weight_bytes / 4);
  const auto rank = [&](const CandidateInfo& c) {
    return std::tuple(!counts(c), c.weight_bytes > allowed, c.splits_before > 0, c.seconds);
  };
  return least(candidates, rank, "of those whose weights take least memory");
}

}  // namespace tenon
