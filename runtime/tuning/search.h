// Measures the candidates of a graph's groups, in turns with those of the least estimate.
#pragma once
#include "runtime/profile.h"
#include "runtime/tuning/choices.h"

namespace tenon {

/// The groups of one key. Of those that are computed together with others (in the regions of an if or a loop,
/// behind sizes that depend on data, joined with other steps) times are those of the whole step.
struct TunedGroup {
  std::string key, group, source;  // source: of the first
  std::size_t groups = 0;          // of this key in the plan
  struct Tried {
    std::string candidate;
    double ms = 0;            // the median of a group's time
    double incumbent_ms = 0;  // the incumbent's, in the same turns
    double estimated_ms = 0;  // of a kernel by its own rule; else 0
    Interval difference;      // of the medians, 95 %: below 0 where the candidate is faster
  };
  std::vector<Tried> tried;
  std::string incumbent;  // the candidate with the least estimate
  double incumbent_estimated_ms = 0;
  std::string taken;
};

struct TuneOptions {
  double seconds = 60;   // a search that is cut short says how much is left
  bool again = false;    // what is known is measured once more
  int most_blocks = 30;  // of a round (InterleaveOptions::blocks)
  std::function<void(const std::string& what)> progress = [](const std::string&) {};
  /// What was measured of a plan, of which each step ran by its kernel's own rule or not (Step::schedule).
  std::function<void(const Plan&, const RunSamples&)> record = [](const Plan&, const RunSamples&) {};
  /// What is found so far, of this graph's groups alone: after each round and at the end. Until then what was
  /// fastest in a round is neither taken nor tried: it is not confirmed yet.
  std::function<void(const Tuning&)> keep = [](const Tuning&) {};
  /// Whether outputs of other kernels (the first) are as right as those of the incumbents.
  std::function<bool(const std::vector<Tensor>&, const std::vector<Tensor>&)> agrees =
      [](const auto&, const auto&) { return true; };
};

struct TuneReport {
  std::vector<TunedGroup> groups;  // that have a choice
  std::size_t measured = 0, known = 0, left = 0;
  double before_ms = 0, after_ms = 0;  // medians of whole runs, in turns; 0 where no kernel changes
  Interval ratio;                      // after / before, 95 %
  std::string reverted;                // why what was faster alone was not taken; empty: all was
  double difference = 0;               // of the outputs, as a share of the largest value of one
};

/// First the other kernels in the order of their estimates, then the settings of the fastest one's knobs, one
/// at a time, then those that help at once, then the group in two parts (group_split.h); in the end what was
/// found is measured once more. A candidate is taken where its time lies below the incumbent's with the whole
/// interval. What `tuning` holds as tried already is not measured again, unless options say so; what is found
/// is put there. In the end a run with all of them is timed in turns with one without, and outputs are
/// compared: where it is no faster or does not agree, those found here that change orders in memory are left
/// out, and if that does not help, all found here.
TuneReport tune(const std::shared_ptr<const Graph>&, std::span<const Tensor> inputs, const Device&,
                int threads, Tuning& tuning, const TuneOptions& = {});

}  // namespace tenon
