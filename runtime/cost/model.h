// The cost model: what a step takes, from its features. Trained by models/cost/train.py; docs/prediction.md.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/statistics.h"
#include "runtime/cost/features.h"

namespace tenon {

/// What an estimate rests on, the best first.
enum class Basis : std::uint8_t {
  measured,  // a step of the same key was measured on this device
  trees,     // boosted trees over the logarithm of time / first guess, which is one of the next two
  additive,  // six numbers of the kernel: alone for those with too few records for trees
  roofline,  // not covered: a usual multiple of the roofline
};
std::string_view name(Basis);

/// Milliseconds; the interval is meant to hold the time with the model's coverage (90%).
struct Estimate {
  double ms = 0;
  Interval interval;
  Basis basis = Basis::roofline;

  Estimate times(double factor) const {
    return {ms * factor, {interval.low * factor, interval.high * factor}, basis};
  }
};

/// Gradient-boosted trees as one flat table.
struct Trees {
  std::vector<int> feature, left, right;  // of each node; a child below 0 is the leaf -child - 1
  std::vector<double> threshold, leaf;
  std::vector<int> roots;  // of each tree

  /// The sum of the leaves that the inputs lead to: left where input <= threshold.
  double operator()(const std::vector<double>& inputs) const;
};

class CostModel {
 public:
  /// The one that this program brings along; of CPUs.
  static const CostModel& shipped();
  /// Schema tenon.cost/2. Throws Error where a number or a node is out of place; `where` names the text.
  static CostModel parse(std::string_view json, const std::string& where);

  /// `features` has the numbers of the device.
  Estimate step(const std::string& kernel, const Features& features) const;
  /// A whole run lies in [ms / factor, ms * factor].
  double run_factor(double ms) const;

  /// SHA-256 of the records that it was trained on.
  const std::string& digest() const { return digest_; }
  double coverage() const { return coverage_; }

 private:
  struct Kernel {
    int count = 0;      // records
    double factor = 0;  // the median of log(time / roofline)
    std::vector<double> additive;
  };
  double boosted(const Features&, double guess) const;

  std::string digest_;
  std::map<std::string, Kernel> kernels_;
  std::map<std::string, double> kernel_spread_;
  std::vector<double Features::*> inputs_;
  Trees trees_;
  int trees_from_ = 0;  // records of a kernel
  double prior_ = 0, coverage_ = 0, spread_ = 1, not_covered_ = 1, run_ = 1, run_from_1_ms_ = 1;
};

}  // namespace tenon
