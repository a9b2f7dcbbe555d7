// Rounds of interleaved runs.
#include "report/compare_runs.h"

namespace tenon {
namespace {

Comparison one_round(const CompareSide& before, const CompareSide& after, const InterleaveOptions& runs,
                     const CompareOptions& options, bool after_first) {
  std::unique_ptr<Session> sessions[2];
  const CompareSide* sides[] = {&before, &after};
  for (const int i : {after_first ? 1 : 0, after_first ? 0 : 1}) {
    sessions[i] = std::make_unique<Session>(sides[i]->graph, sides[i]->session);
    sessions[i]->plan_for(sides[i]->inputs);
  }
  auto samples = interleave({*sessions[0], before.inputs}, {*sessions[1], after.inputs}, runs);
  const auto recording = [&](std::size_t i) {
    return recording_of(sides[i]->label, measured(*sides[i]->graph, sides[i]->inputs),
                        *sessions[i]->plan_for(sides[i]->inputs), std::move(samples[i]));
  };
  return compare_paired(recording(0), recording(1), options);
}

}  // namespace

Comparison compare_running(const CompareSide& before, const CompareSide& after, const InterleaveOptions& runs,
                           const CompareOptions& options, int most_rounds) {
  Comparison result = one_round(before, after, runs, options, false);
  for (int round = 1; round < most_rounds && result.slower(); ++round)
    confirm(result, one_round(before, after, runs, options, round % 2 == 1));
  return result;
}

}  // namespace tenon
