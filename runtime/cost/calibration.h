// What records of one device say beyond the cost model.
#pragma once
#include <map>
#include <optional>
#include <span>

#include "runtime/cost/model.h"
#include "runtime/cost/record.h"

namespace tenon {

/// Of a machine that was calibrated for this model; else all are 1.
const KernelFactors& factors_of(const Rates&, const CostModel&);
bool is_calibrated(const Rates&, const CostModel&);
/// Whether it was calibrated for another model, which says nothing of this one.
bool is_of_another_model(const MachineDescription&, const CostModel&);

/// The factors that make the model right for these steps in the middle: one for each kernel, drawn towards
/// that of all kernels.
KernelFactors factors_of(std::span<const StepRecord>, const CostModel&);

/// Times of steps that were measured, and how this device's kernels differ from what is expected of them.
class Calibration {
 public:
  Calibration() = default;
  /// What a machine's own calibration says already, where it is for this model, is part of the expectation.
  Calibration(std::span<const StepRecord>, const CostModel&, const Rates&);

  /// The factors alone: for machines that were not measured.
  Calibration factors_alone() const;
  /// Where these rates, which those of the records are not, say nothing themselves: all that is known of the
  /// records' ones.
  Calibration for_others(const Rates& of_records, const Rates& others, const CostModel&) const;
  /// Of the steps of a key.
  std::optional<double> measured_ms(const std::string& key) const;
  const KernelFactors& factors() const { return factors_; }
  bool is_empty() const { return is_empty_; }

 private:
  std::map<std::string, double> measured_;
  KernelFactors factors_;
  bool is_empty_ = true;
};

}  // namespace tenon
