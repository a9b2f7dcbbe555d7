// What a search tries for the groups of one key, stage by stage.
#pragma once
#include <deque>
#include <set>

#include "runtime/tuning/search.h"

namespace tenon {

/// The candidates of one key, and what is left to try of them.
struct OpenKey {
  enum class Stage { kernels, settings, together, splits, done };

  std::size_t group = 0;                  // of the report
  std::vector<CandidateInfo> candidates;  // the incumbent first
  bool is_worth_it = false;               // settings and splits, too
  std::set<std::string> tried = {};
  TunedChoice best = {};
  TunedChoice confirmed = {};  // by a search before this one; else the incumbent
  Stage stage = Stage::kernels;
  std::deque<std::string> left = {};  // of this stage

  /// Lists what a stage tries that was not tried, or goes on to the next where that is nothing. What was
  /// measured before decides what is tried together.
  void begin(Stage, std::span<const TunedGroup::Tried> measured, int threads);
  void begin_next(std::span<const TunedGroup::Tried> measured, int threads);
  /// How many candidates the stages behind this one have, as far as is known: they may bring others.
  std::size_t later(int threads) const;

 private:
  std::size_t base_of_settings() const;
  std::vector<std::string> others(bool are_splits) const;
};

/// The settings of a candidate's knobs that may be faster.
std::vector<Schedule> settings_of(const CandidateInfo&, int threads);

}  // namespace tenon
