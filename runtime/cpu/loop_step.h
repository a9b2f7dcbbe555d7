// The step that runs a loop program.
#pragma once
#include "kernels/cpu/loop_kernel.h"
#include "runtime/cpu/step.h"
#include "runtime/lower.h"
#include "runtime/planner.h"

namespace tenon {

inline constexpr std::size_t max_loop_buffers = 64;

class LoopStep : public CpuStep {
 public:
  LoopStep(Planner& planner, const LoweredLoop& loop, std::string kernel_name);
  void compute(const CpuFrame& frame) const override;
  std::optional<Error> failure(std::span<const Fault> found) const override;

 private:
  cpu::LoopKernel kernel_;
  std::vector<Address> buffers_;
};

}  // namespace tenon
