#include "runtime/cost/calibration.h"

#include <cmath>

namespace tenon {
namespace {

// A kernel's own records weigh as much as the device's when there are so many of them.
constexpr double enough = 5;

// Logarithms of measured / expected, weighted by the root of the time: long steps decide, and are measured
// best.
struct Mean {
  double sum = 0, weight = 0, count = 0;

  void add(double log_ratio, double by) {
    sum += by * log_ratio;
    weight += by;
    ++count;
  }
  double value() const { return weight > 0 ? sum / weight : 0; }
};

}  // namespace

Calibration::Calibration(std::span<const StepRecord> records, const CostModel& model) {
  Mean all;
  std::map<std::string, Mean> kernels;
  for (const StepRecord& r : records) {
    measured_[r.key] = r.ms;
    const double expected = model.step(r.kernel, r.features).ms;
    if (!(r.ms > 0 && expected > 0)) continue;
    const double log_ratio = std::log(r.ms / expected);
    all.add(log_ratio, std::sqrt(r.ms));
    kernels[r.kernel].add(log_ratio, std::sqrt(r.ms));
  }
  usual_ = std::exp(all.value());
  for (const auto& [kernel, mean] : kernels)
    factors_[kernel] = std::exp((mean.count * mean.value() + enough * all.value()) / (mean.count + enough));
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
