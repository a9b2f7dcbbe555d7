// A step that starts one kernel.
#pragma once
#include <functional>
#include <vector>

#include "kernels/gpu/tensor_map.h"
#include "runtime/gpu/gpu.h"
#include "runtime/index_fault.h"
#include "runtime/step.h"

namespace tenon::gpu {

/// The kernel's parameters in order: addresses, that of the step's fault where it has any, structs, and
/// matrices of the buffers as bulk copies read them.
class LaunchStep : public Step {
 public:
  struct Kernel {
    std::string source, name;
    LaunchSize size;
    std::vector<PlannedTensor> buffers;
    std::vector<std::vector<std::byte>> arguments;  // the structs; those that are empty are left out
    std::vector<TensorMap> maps;
    bool may_fault = false;
    std::function<Error(const Fault&)> complaint = index_error;  // what a fault means
  };
  /// The GPU must outlive it.
  LaunchStep(Gpu& gpu, Kernel kernel);
  const Kernel& kernel() const { return kernel_; }

  void request() override { gpu_.request(kernel_.source); }
  void compile() override;
  void run(const Frame&) const override;
  std::optional<Error> failure(std::span<const Fault>) const override;

 private:
  Gpu& gpu_;
  Kernel kernel_;
  std::vector<Address> buffers_;
  Function function_ = nullptr;
};

}  // namespace tenon::gpu
