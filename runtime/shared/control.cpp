// If and loop: steps that run the plans of their regions.
#include "ir/ops/control.h"

#include "ir/data_size.h"
#include "runtime/subplan.h"

namespace tenon {
namespace {

std::size_t dense_bytes(const Type& type) {
  return static_cast<std::size_t>(elements(type)) * size_of(type.dtype);
}

bool holds(const std::byte* condition) { return *condition != std::byte{0}; }

// What a region sees of the frame of its step, whose own memory comes first.
Frame inside(const Frame& frame, std::size_t scratch, std::size_t host_scratch, std::span<Fault> faults) {
  return {.scratch = frame.scratch + scratch,
          .host_scratch = frame.host_scratch + host_scratch,
          .queue = frame.queue,
          .faults = faults};
}

// A step made of plans.
class ProgramStep : public Step {
 public:
  std::vector<std::shared_ptr<const Plan>> plans() const override {
    std::vector<std::shared_ptr<const Plan>> list;
    for (const Subplan& p : plans_) list.push_back(p.shared_plan());
    return list;
  }

  std::optional<Error> failure(std::span<const Fault> found) const override {
    for (const Subplan& p : plans_) {
      if (auto error = p.plan().failure(found.first(p.plan().faults))) return error;
      found = found.subspan(p.plan().faults);
    }
    return std::nullopt;
  }

 protected:
  ProgramStep(Planner& planner, const Node& node, std::span<const PlannedTensor> in,
              std::span<const PlannedTensor> out, const PlanOptions& options = {}) {
    info.kind = StepKind::program;
    for (const auto& region : node.regions()) {
      plans_.emplace_back(planner, *region, options);
      faults += plans_.back().plan().faults;
    }
    for (const PlannedTensor& t : in) in_.push_back(t.address());
    for (const PlannedTensor& t : out) out_.push_back(t.address());
  }

  std::vector<Subplan> plans_;
  std::vector<Address> in_, out_;
};

class IfStep : public ProgramStep {
 public:
  IfStep(Planner& planner, const Node& node, std::span<const PlannedTensor> in,
         std::span<const PlannedTensor> out)
      : ProgramStep(planner, node, in, out) {
    info.kernel = "branch";
    scratch_bytes = std::max(plans_[0].scratch_bytes(), plans_[1].scratch_bytes());
    host_scratch_bytes = std::max(plans_[0].host_scratch_bytes(), plans_[1].host_scratch_bytes());
  }

  void run(const Frame& frame) const override {
    frame.queue.wait();
    if (any_found(frame.faults)) return;
    const std::size_t taken = holds(frame.at(in_[0])) ? 0 : 1;
    const std::size_t first = taken == 0 ? 0 : plans_[0].plan().faults;
    plans_[taken].run(
        {[&](std::size_t i) { return frame.at(in_[i + 1]); },
         [&](std::size_t i) { return frame.at(out_[i]); }},
        inside(frame, 0, 0, faults_in(frame.faults).subspan(first, plans_[taken].plan().faults)));
  }
};

// Carried values go to and fro between two sets of buffers: the outputs and scratch memory. The number of the
// step and whether there is another one are the host's.
class IterationStep : public ProgramStep {
 public:
  IterationStep(Planner& planner, const Node& node, std::span<const PlannedTensor> in,
                std::span<const PlannedTensor> out)
      : ProgramStep(planner, node, in, out, {.pinned_inputs = {0}, .pinned_outputs = {0}}),
        carried_(static_cast<std::size_t>(node.as<Loop>()->carried)) {
    const auto& limit = node.as<Loop>()->limit;
    if (limit) limit_ = limit->value();
    info.kernel = limit ? fmt::format("steps {}", limit_) : "steps";
    for (std::size_t i = 0; i < carried_; ++i) {
      spare_.push_back(scratch_bytes);
      bytes_.push_back(dense_bytes(node.output(i)->type()));
      scratch_bytes += in_lines(bytes_.back());
    }
    for (std::size_t i = carried_; i < out.size(); ++i)
      bytes_.push_back(dense_bytes(plans_[0].plan().outputs[i + 1]));
    memory_ = scratch_bytes;
    scratch_bytes += plans_[0].scratch_bytes();
    host_scratch_bytes = sizeof(Head) + plans_[0].host_scratch_bytes();
  }

  void run(const Frame& frame) const override {
    Head& head = head_of(frame);
    frame.queue.wait();
    bool go_on = holds(frame.at(in_[0])) && !any_found(frame.faults);
    std::int64_t step = 0;
    for (; go_on && (limit_ < 0 || step < limit_); ++step) {
      head.step = step;
      plans_[0].run({[&](std::size_t i) { return parameter(i, step, frame); },
                     [&](std::size_t i) { return result(i, step, frame); }},
                    inside(frame, memory_, sizeof(Head), faults_in(frame.faults)));
      frame.queue.wait();
      go_on = holds(&head.go_on) && !any_found(frame.faults);
    }
    for (std::size_t i = 0; i < carried_; ++i) {
      const std::byte* last = carried(i, step, frame);
      std::byte* out = frame.at(out_[i]);
      if (last != out && bytes_[i] > 0) frame.queue.copy(out, last, bytes_[i]);
    }
  }

 private:
  struct alignas(64) Head {
    std::int64_t step;
    std::byte go_on;
  };

  static Head& head_of(const Frame& frame) { return *reinterpret_cast<Head*>(frame.host_scratch); }

  // Where carried value i lies before a step.
  std::byte* carried(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (step == 0) return frame.at(in_[i + 1]);
    return step % 2 == 0 ? frame.scratch + spare_[i] : frame.at(out_[i]);
  }

  const std::byte* parameter(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (i == 0) return reinterpret_cast<const std::byte*>(&head_of(frame).step);
    return i <= carried_ ? carried(i - 1, step, frame) : frame.at(in_[i]);
  }

  std::byte* result(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (i == 0) return &head_of(frame).go_on;
    if (i <= carried_) return carried(i - 1, step + 1, frame);
    return frame.at(out_[i - 1]) + static_cast<std::size_t>(step) * bytes_[i - 1];
  }

  std::size_t carried_;
  std::int64_t limit_ = -1;
  std::vector<std::size_t> spare_;  // offsets of the second set in scratch memory
  std::vector<std::size_t> bytes_;  // of each carried value, then of each slice
  std::size_t memory_ = 0;          // offset of the region's memory
};

template <class S>
void emit(Planner& planner, const Group& group) {
  const Node& node = group.node();
  std::vector<PlannedTensor> in, out;
  for (std::size_t i = 0; i < node.inputs().size(); ++i)  // the host reads the condition
    in.push_back(i == 0 ? planner.on_host(node.input(0)) : planner.dense(node.input(i)));
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* v = node.output(i);
    out.push_back(planner.assignment().assign(v, row_major(v->rank()),
                                              [](const PlannedTensor& t) { return t.is_contiguous(); }));
  }
  auto step = std::make_unique<S>(planner, node, in, out);
  planner.emit(std::move(step), node, std::move(in), std::move(out));
}

// What the plans of regions take, nobody estimates.
template <class Op, class S>
std::vector<Candidate> lower(const Planner&, const Group& group) {
  if (!group.node().is<Op>() || gives_sizes(group.node())) return {};
  return {{{.kernel = "plans of the regions"}, emit<S>}};
}

}  // namespace

std::vector<OpLowering> control_lowerings() {
  return {{&op_info<If>(), lower<If, IfStep>}, {&op_info<Loop>(), lower<Loop, IterationStep>}};
}

}  // namespace tenon
