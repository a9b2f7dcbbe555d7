// Random integers.
#include "kernels/cpu/random.h"

#include "ir/ops/random.h"
#include "runtime/cpu/step.h"
#include "runtime/planner.h"

namespace tenon {
namespace {

class RandomStep : public CpuStep {
 public:
  explicit RandomStep(const cpu::RandomRun& run) : run_(run) {}

  void compute(const CpuFrame& frame) const override {
    cpu::RandomRun run = run_;
    if (step) run.step = static_cast<std::uint32_t>(*frame.at<const std::int64_t>(*step));
    run.out = frame.at<std::int64_t>(out);
    cpu::random_bits(run, frame.pool);
  }

  std::optional<Address> step;
  Address out;

 private:
  cpu::RandomRun run_;
};

void emit_random(Planner& planner, const Group& group) {
  const Node& node = group.node();
  const auto& op = *node.as<RandomBits>();
  const PlannedTensor out =
      planner.assignment().assign(node.output(), row_major(node.output()->rank()),
                                  [](const PlannedTensor& t) { return t.is_contiguous(); });
  auto step = std::make_unique<RandomStep>(cpu::RandomRun{.seed = static_cast<std::uint64_t>(op.seed),
                                                          .stream = static_cast<std::uint32_t>(op.stream),
                                                          .bits = static_cast<int>(op.bits),
                                                          .count = out.numel()});
  std::vector<PlannedTensor> reads;
  if (!node.inputs().empty()) {
    reads.push_back(planner.dense(node.input()));
    step->step = reads[0].address();
  }
  step->out = out.address();
  planner.emit(std::move(step), node, reads, {out});
}

std::vector<Candidate> lower_random(const Planner& planner, const Group& group) {
  const Type& type = group.node().output()->type();
  if (numel(type.shape) == Dim(0)) return {};
  constexpr double operations = 100;  // of a product, in the time that one number takes
  const Work work{.bytes = bytes_of(type)};
  const double numbers = static_cast<double>(numel(type.shape).value());
  return {
      {{.kernel = "random bits", .work = work, .seconds = planner.estimate(operations * numbers, work.bytes)},
       emit_random}};
}

}  // namespace

std::vector<OpLowering> random_lowerings() {
  return {{.op = &op_info<RandomBits>(), .lower = lower_random, .alone = true}};
}

}  // namespace tenon
