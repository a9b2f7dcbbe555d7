// How the kernels of a device differ from what a cost model expects of them.
#pragma once
#include <map>
#include <string>

namespace tenon {

/// What a kernel takes as a multiple of what the model says.
struct KernelFactors {
  double usual = 1;                       // of kernels without one of their own
  std::map<std::string, double> kernels;  // by family, as StepFeatures::kernel

  double of(const std::string& kernel) const {
    const auto found = kernels.find(kernel);
    return found == kernels.end() ? usual : found->second;
  }
};

/// Factors for the cost model of this digest: of another one they say nothing.
struct Calibrated {
  std::string model;
  KernelFactors factors;
};

}  // namespace tenon
