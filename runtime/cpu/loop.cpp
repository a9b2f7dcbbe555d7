// Loops on the CPU: one compiled loop program each.
#include "runtime/cpu/loop.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/cpu/loop_kernel.h"
#include "runtime/calls/loop.h"
#include "runtime/cpu/joined_loops.h"
#include "runtime/cpu/step.h"
#include "runtime/index_fault.h"

namespace tenon {
namespace {

constexpr std::size_t max_buffers = 64;

class LoopStep : public CpuStep {
 public:
  LoopStep(LoweredLoop loop, const Schedule& how, int threads)
      : loop_(std::move(loop)),
        how_(how),
        threads_(threads),
        kernel_(cpu::LoopKernel::compile(with_neighbours(loop_), how)) {
    scratch_bytes = kernel_.scratch_bytes(threads);
    for (const PlannedTensor& t : loop_.buffers) buffers_.push_back(t.address());
    const auto& instructions = loop_.program.code.instructions;
    faults = std::any_of(instructions.begin(), instructions.end(), may_fault);
  }

  void compute(const CpuFrame& frame) const override {
    std::array<void*, max_buffers> buffers;
    for (std::size_t i = 0; i < buffers_.size(); ++i) buffers[i] = frame.at<void>(buffers_[i]);
    const auto bad = kernel_.run({buffers.data(), buffers_.size()}, frame.scratch, frame.pool);
    if (bad) report_index(frame.faults[0], bad->index, bad->range, bad->from_end);
  }

  std::optional<Error> failure(std::span<const Fault> found) const override { return index_error(found[0]); }

  std::unique_ptr<Step> joined(const Step& other) const override {
    const auto* loop = dynamic_cast<const LoopStep*>(&other);
    auto program = loop ? tenon::joined(loop_, loop->loop_) : std::nullopt;
    if (!program) return nullptr;
    auto both = std::make_unique<LoopStep>(*std::move(program), how_, threads_);
    both->parts_ = parts_ + loop->parts_;
    both->info.kernel = fmt::format("{} loops", both->parts_);
    return both;
  }

 private:
  const LoweredLoop loop_;
  const Schedule how_;
  const int threads_;
  int parts_ = 1;  // loops that this one was
  cpu::LoopKernel kernel_;
  std::vector<Address> buffers_;
};

void emit(Planner& planner, const Group& group, const LoopCall& call) {
  PlacedLoop placed = place_loop(planner, group, call);
  auto step = std::make_unique<LoopStep>(placed.loop, planner.schedule(), planner.threads());
  planner.emit(std::move(step), group.node(), std::move(placed.reads), std::move(placed.writes));
}

// Does it find several elements at one index?
bool reads_runs(const Node& gather, const Strided& from) {
  const auto axes = gathered_axes(gather);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis] && from.strides()[axis] == 1 && from.shape()[axis] > 1) return true;
  return false;
}

// Bytes beyond those of the work: what indices choose is read element by element where no axis that is read
// in place is contiguous.
double scattered_bytes(const Planner& planner, const Group& group) {
  constexpr double more = 7;
  double bytes = 0;
  for (const Node* member : group.members())
    if (gathers(*member) && !reads_runs(*member, planner.assignment().layout(group.outer(member->input()))))
      bytes += more * bytes_of(member->output()->type());
  return bytes;
}

}  // namespace

std::vector<Candidate> lower_loop(const Planner& planner, const Group& group) {
  if (count_buffers(group) > max_buffers) return {};
  const auto call = LoopCall::match(group);
  if (!call) return {};
  const Work work = call->work(group);
  const CandidateInfo info{
      .kernel = call->axes.reduced > 0 ? "row loop" : "loop",
      .work = work,
      .seconds = planner.estimate(work.flops, work.bytes + scattered_bytes(planner, group)),
      .knobs = cpu::LoopKernel::knobs};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace tenon
