// Runs two programs by turns and says whether the second is slower.
#pragma once
#include "report/compare.h"

namespace tenon {

struct CompareSide {
  std::string label;
  std::shared_ptr<const Graph> graph;
  std::vector<Tensor> inputs;
  SessionOptions session;
};

/// Plans both, runs them interleaved and compares. An alarm may be an accident of where memory came to lie:
/// it is measured again with sessions made anew in the other order, up to `most_rounds` times in all, and
/// stays only when every round raises it.
Comparison compare_running(const CompareSide& before, const CompareSide& after, const InterleaveOptions& = {},
                           const CompareOptions& = {}, int most_rounds = 3);

}  // namespace tenon
