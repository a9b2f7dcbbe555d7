#include "runtime/cpu/copy.h"

#include "kernels/cpu/copy.h"
#include "runtime/cpu/step.h"

namespace tenon {
namespace {

class CopyStep : public CpuStep {
 public:
  CopyStep(cpu::StridedCopy copy, Address from, Address to) : copy_(std::move(copy)), from_(from), to_(to) {
    info.kind = StepKind::copy;
    info.op = info.kernel = "copy";
  }
  void compute(const CpuFrame& frame) const override {
    copy_.run(frame.at<const void>(from_), frame.at<void>(to_), frame.pool);
  }

 private:
  cpu::StridedCopy copy_;
  Address from_, to_;
};

}  // namespace

std::unique_ptr<Step> make_copy(const PlannedTensor& from, const PlannedTensor& to) {
  return std::make_unique<CopyStep>(
      cpu::StridedCopy(size_of(from.dtype()), from.shape(), from.strides(), to.strides()), from.address(),
      to.address());
}

}  // namespace tenon
