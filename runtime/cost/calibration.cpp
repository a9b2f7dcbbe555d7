#include "runtime/cost/calibration.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tenon {
namespace {

// A kernel's own records weigh as much as the device's when there are so many of them.
constexpr double enough = 20;

// Logarithms of measured / expected, weighted by the root of the time: long steps decide, and are measured
// best. Of these the middle: a kernel that fell off a cliff for one shape says nothing of the others.
struct Ratios {
  std::vector<std::pair<double, double>> logs;  // with their weights

  void add(double log_ratio, double weight) { logs.emplace_back(log_ratio, weight); }
  double count() const { return static_cast<double>(logs.size()); }
  /// 0 of none.
  double median() const {
    std::vector<std::pair<double, double>> sorted = logs;
    std::ranges::sort(sorted);
    double rest = 0;
    for (const auto& [log_ratio, weight] : sorted) rest += weight / 2;
    for (const auto& [log_ratio, weight] : sorted)
      if ((rest -= weight) <= 0) return log_ratio;
    return 0;
  }
};

}  // namespace

Calibration::Calibration(std::span<const StepRecord> records, const CostModel& model) {
  Ratios all;
  std::map<std::string, Ratios> kernels;
  for (const StepRecord& r : records) {
    measured_[r.key] = r.ms;
    const double expected = model.step(r.kernel, r.features).ms;
    if (!(r.ms > 0 && expected > 0)) continue;
    const double log_ratio = std::log(r.ms / expected);
    all.add(log_ratio, std::sqrt(r.ms));
    kernels[r.kernel].add(log_ratio, std::sqrt(r.ms));
  }
  const double usual = all.median();
  usual_ = std::exp(usual);
  for (const auto& [kernel, of] : kernels)
    factors_[kernel] = std::exp((of.count() * of.median() + enough * usual) / (of.count() + enough));
}

Calibration Calibration::factors_alone() const {
  Calibration alone = *this;
  alone.measured_.clear();
  return alone;
}

std::optional<double> Calibration::measured_ms(const std::string& key) const {
  const auto found = measured_.find(key);
  return found == measured_.end() ? std::nullopt : std::optional(found->second);
}

double Calibration::factor(const std::string& kernel) const {
  const auto found = factors_.find(kernel);
  return found == factors_.end() ? usual_ : found->second;
}

}  // namespace tenon
