// What records of one device say beyond the cost model.
#pragma once
#include <map>
#include <optional>
#include <span>

#include "runtime/cost/model.h"
#include "runtime/cost/record.h"

namespace tenon {

/// Times of steps that were measured, and how this device's kernels differ from what the model expects of
/// them: a factor for each kernel, and one for those without records.
class Calibration {
 public:
  Calibration() = default;
  Calibration(std::span<const StepRecord>, const CostModel&);

  /// The factors alone: for other threads, and for machines that were not measured.
  Calibration factors_alone() const;
  /// Of the steps of a key.
  std::optional<double> measured_ms(const std::string& key) const;
  /// What the model's time for a kernel is multiplied by; 1 where there are no records.
  double factor(const std::string& kernel) const;

 private:
  std::map<std::string, double> measured_, factors_;
  double usual_ = 1;
};

}  // namespace tenon
