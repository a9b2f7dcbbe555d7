#include "runtime/shared/transfer.h"

namespace tenon {
namespace {

class TransferStep : public Step {
 public:
  TransferStep(Address from, Address to, std::size_t bytes) : from_(from), to_(to), bytes_(bytes) {}
  void run(const Frame& frame) const override { frame.queue.copy(frame.at(to_), frame.at(from_), bytes_); }

 private:
  Address from_, to_;
  std::size_t bytes_;
};

}  // namespace

std::unique_ptr<Step> make_transfer(const PlannedTensor& from, const PlannedTensor& to, std::string kernel) {
  TENON_CHECK(from.is_contiguous() && to.is_contiguous() && from.shape() == to.shape());
  const std::size_t bytes = static_cast<std::size_t>(from.numel()) * size_of(from.dtype());
  auto step = std::make_unique<TransferStep>(from.address(), to.address(), bytes);
  step->info.kind = StepKind::copy;
  step->info.op = "transfer";
  step->info.kernel = std::move(kernel);
  return step;
}

}  // namespace tenon
