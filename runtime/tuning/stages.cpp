#include "runtime/tuning/stages.h"

#include <algorithm>

namespace tenon {
namespace {

// A step beyond this is not computed faster by one thread.
constexpr double small_seconds = 200e-6;

OpenKey::Stage after(OpenKey::Stage stage) {
  return static_cast<OpenKey::Stage>(static_cast<int>(stage) + 1);
}

}  // namespace

std::vector<Schedule> settings_of(const CandidateInfo& candidate, int threads) {
  std::vector<Schedule> settings = candidate.knobs.settings(threads);
  std::erase_if(settings, [&](const Schedule& s) {
    return s.threads != Schedule::Team::rule && candidate.seconds > small_seconds;
  });
  return settings;
}

// The kernel whose settings are tried: the fastest, or that of a search before this one.
std::size_t OpenKey::base_of_settings() const {
  for (const std::string& name : tried)
    if (const auto d = candidate_named(candidates, name); d && d->schedule != Schedule{}) return d->candidate;
  const auto fastest = candidate_named(candidates, best.candidate);
  return fastest ? fastest->candidate : 0;
}

// Than the incumbent, the least estimates first.
std::vector<std::string> OpenKey::others(bool are_splits) const {
  std::vector<CandidateInfo> found(candidates.begin() + 1, candidates.end());
  std::erase_if(found, [&](const CandidateInfo& c) { return (c.splits_before > 0) != are_splits; });
  std::ranges::stable_sort(found, {}, &CandidateInfo::seconds);
  std::vector<std::string> names;
  for (const CandidateInfo& c : found) names.push_back(candidate_name(c));
  return names;
}

void OpenKey::begin(Stage next, std::span<const TunedGroup::Tried> measured, int threads) {
  stage = next;
  const auto add = [&](const std::string& name) {
    if (!tried.contains(name)) left.push_back(name);
  };
  const std::size_t base = base_of_settings();
  const CandidateInfo& kernel = candidates[base];
  switch (stage) {
    case Stage::kernels: std::ranges::for_each(others(false), add); break;
    case Stage::splits: std::ranges::for_each(others(true), add); break;
    case Stage::settings:
      if (!is_worth_it) break;
      for (const Schedule& s : settings_of(kernel, threads)) add(candidate_name(kernel, s));
      break;
    case Stage::together: {
      Schedule all;
      std::size_t helping = 0;
      for (const TunedGroup::Tried& t : measured) {
        const auto decision = candidate_named(candidates, t.candidate);
        if (t.difference.high >= 0 || !decision || decision->candidate != base) continue;
        if (decision->schedule == Schedule{}) continue;
        ++helping;
        // Of two settings of one knob the first that helps: the faster one is tried alone.
        all = decision->schedule.with(all);
      }
      if (helping > 1) add(candidate_name(kernel, all));
      break;
    }
    case Stage::done: return;
  }
  if (left.empty()) begin(after(stage), measured, threads);
}

void OpenKey::begin_next(std::span<const TunedGroup::Tried> measured, int threads) {
  begin(after(stage), measured, threads);
}

std::size_t OpenKey::later(int threads) const {
  std::size_t count = 0;
  if (stage == Stage::kernels && is_worth_it) count += settings_of(candidates.front(), threads).size();
  if (stage < Stage::together && is_worth_it) ++count;
  if (stage < Stage::splits) count += others(true).size();
  return count;
}

}  // namespace tenon
