// Measures the candidates of a graph's groups, in turns with those of the least estimate.
#pragma once
#include "base/statistics.h"
#include "runtime/session.h"
#include "runtime/tuning/choices.h"

namespace tenon {

/// The groups of one key.
struct TunedGroup {
  std::string key, group, source;  // source: of the first
  std::size_t groups = 0;          // of this key in the plan
  struct Tried {
    std::string candidate;
    double ms = 0;        // the median of a group's time
    double incumbent_ms;  // the incumbent's, in the same turns
    Interval difference;  // of the medians, 95 %: below 0 where the candidate is faster
  };
  std::vector<Tried> tried;
  std::string incumbent;  // the candidate with the least estimate
  std::string taken;
};

struct TuneOptions {
  double seconds = 60;  // a search that is cut short says how much is left
  bool again = false;   // what is known is measured once more
  std::function<void(const std::string& what)> progress = [](const std::string&) {};
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

/// What `tuning` holds already is not measured again, unless options say so; what is found is put there. A
/// candidate is taken where its time lies below the incumbent's with the whole interval. In the end a run
/// with all of them is timed in turns with one without, and outputs are compared: where it is no faster or
/// does not agree, those found here that change orders in memory are left out, and if that does not help, all
/// found here. Groups in regions of if and loop, and behind sizes that depend on data, are not measured.
TuneReport tune(const std::shared_ptr<const Graph>&, std::span<const Tensor> inputs, const Device&,
                int threads, Tuning& tuning, const TuneOptions& = {});

}  // namespace tenon
