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

// What the steps took as a multiple of what the model and the factors that are known say.
KernelFactors factors_beyond(const KernelFactors& known, std::span<const StepRecord> records,
                             const CostModel& model) {
  Ratios all;
  std::map<std::string, Ratios> kernels;
  for (const StepRecord& r : records) {
    const double expected = model.step(r.kernel, r.features).ms * known.of(r.kernel);
    if (!(r.ms > 0 && expected > 0)) continue;
    const double log_ratio = std::log(r.ms / expected);
    all.add(log_ratio, std::sqrt(r.ms));
    kernels[r.kernel].add(log_ratio, std::sqrt(r.ms));
  }
  const double usual = all.median();
  KernelFactors factors{.usual = std::exp(usual), .kernels = {}};
  for (const auto& [kernel, of] : kernels)
    factors.kernels[kernel] = std::exp((of.count() * of.median() + enough * usual) / (of.count() + enough));
  return factors;
}

}  // namespace

bool is_of_another_model(const MachineDescription& machine, const CostModel& model) {
  return std::ranges::any_of(machine.rates,
                             [&](const Rates& r) { return r.calibrated && !is_calibrated(r, model); });
}

bool is_calibrated(const Rates& rates, const CostModel& model) {
  return rates.calibrated && rates.calibrated->model == model.digest();
}

const KernelFactors& factors_of(const Rates& rates, const CostModel& model) {
  static const KernelFactors none;
  return is_calibrated(rates, model) ? rates.calibrated->factors : none;
}

KernelFactors factors_of(std::span<const StepRecord> records, const CostModel& model) {
  return factors_beyond({}, records, model);
}

Calibration::Calibration(std::span<const StepRecord> records, const CostModel& model, const Rates& rates)
    : factors_(factors_beyond(factors_of(rates, model), records, model)), is_empty_(records.empty()) {
  for (const StepRecord& r : records) measured_[r.key] = r.ms;
}

Calibration Calibration::factors_alone() const {
  Calibration alone = *this;
  alone.measured_.clear();
  return alone;
}

Calibration Calibration::for_others(const Rates& of_records, const Rates& others,
                                    const CostModel& model) const {
  Calibration result;
  if (is_calibrated(others, model)) return result;
  const KernelFactors& own = factors_of(of_records, model);
  result.is_empty_ = is_empty_ && !is_calibrated(of_records, model);
  result.factors_.usual = own.usual * factors_.usual;
  for (const auto& [kernel, factor] : own.kernels)
    result.factors_.kernels[kernel] = factor * factors_.of(kernel);
  for (const auto& [kernel, factor] : factors_.kernels)
    result.factors_.kernels[kernel] = factor * own.of(kernel);
  return result;
}

std::optional<double> Calibration::measured_ms(const std::string& key) const {
  const auto found = measured_.find(key);
  return found == measured_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace tenon
