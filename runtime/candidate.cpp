#include "runtime/candidate.h"

#include <algorithm>

namespace tenon {

double estimate(const Peak& peak, double cost, double bytes) {
  constexpr double call = 0.2e-6;
  constexpr double l2_bytes = 512 << 10, l3_bytes = 16 << 20;
  const double gbs = bytes <= l2_bytes ? peak.l2_gbs : bytes <= l3_bytes ? peak.l3_gbs : peak.gbs;
  return call + 1e-9 * (cost / peak.gflops + bytes / gbs);
}

Decision least_estimate(const Group&, std::span<const CandidateInfo> candidates) {
  const auto least =
      std::min_element(candidates.begin(), candidates.end(),
                       [](const CandidateInfo& a, const CandidateInfo& b) { return a.seconds < b.seconds; });
  return {static_cast<std::size_t>(least - candidates.begin()),
          candidates.size() == 1 ? "the only candidate" : "the least estimate"};
}

}  // namespace tenon
