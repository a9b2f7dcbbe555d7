// Indices as rows of zeros and a one.
#include "kernels/cpu/one_hot.h"

#include "ir/ops/index.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class OneHotStep : public CpuStep {
 public:
  OneHotStep(long count, long classes) : count_(count), classes_(classes) { faults = 1; }

  void compute(const CpuFrame& frame) const override {
    const auto* const from = frame.at<const std::int64_t>(indices);
    const long wrong = cpu::one_hot(from, count_, classes_, frame.at<std::int64_t>(out), frame.pool);
    if (wrong >= 0) report_index(frame.faults[0], from[wrong], classes_, false);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  Address indices, out;

 private:
  long count_, classes_;
};

void emit_one_hot(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const PlannedTensor indices = planner.dense(node.input());
  const PlannedTensor out =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  auto step = std::make_unique<OneHotStep>(indices.numel(), out.shape().back());
  step->indices = indices.address();
  step->out = out.address();
  planner.emit(std::move(step), node, {indices}, {out});
}

std::vector<Candidate> lower_one_hot(const Planner& planner, const Group& group) {
  const Node& node = group.node();
  if (node.input()->dtype() != DType::i64) return {};
  const double bytes = bytes_of(node.input()->type()) + bytes_of(node.output()->type());
  return {
      {{.kernel = "one hot", .work = {.bytes = bytes}, .seconds = planner.estimate(0, bytes)}, emit_one_hot}};
}

}  // namespace

std::vector<OpLowering> one_hot_lowerings() {
  return {{.op = &op_info<OneHot>(), .lower = lower_one_hot, .alone = true, .widens = true}};
}

}  // namespace tenon
