// If and loop: steps that run the plans of their regions.
#include "ir/ops/control.h"

#include "ir/data_size.h"
#include "runtime/cpu/makers.h"
#include "runtime/subplan.h"

namespace tenon {
namespace {

std::size_t dense_bytes(const Type& type) {
  return static_cast<std::size_t>(elements(type)) * size_of(type.dtype);
}

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

bool holds(const std::byte* condition) { return *condition != std::byte{0}; }

// A step made of plans.
class ProgramStep : public Step {
 public:
  std::vector<std::shared_ptr<const Plan>> plans() const override {
    std::vector<std::shared_ptr<const Plan>> list;
    for (const Subplan& p : plans_) list.push_back(p.shared_plan());
    return list;
  }

 protected:
  ProgramStep(Planner& planner, const Node& node, std::span<const PlannedTensor> in,
              std::span<const PlannedTensor> out) {
    info.kind = StepKind::program;
    for (const auto& region : node.regions()) plans_.emplace_back(planner, *region);
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
    scratch_bytes = std::max(plans_[0].memory_bytes(), plans_[1].memory_bytes());
  }

  void run(const Frame& frame) const override {
    const Subplan& taken = plans_[holds(frame.at<std::byte>(in_[0])) ? 0 : 1];
    taken.run({[&](std::size_t i) { return frame.at<const std::byte>(in_[i + 1]); },
               [&](std::size_t i) { return frame.at<std::byte>(out_[i]); }},
              frame.scratch, frame.queue);
  }
};

// Carried values go to and fro between two sets of buffers: the outputs and scratch memory.
class IterationStep : public ProgramStep {
 public:
  IterationStep(Planner& planner, const Node& node, std::span<const PlannedTensor> in,
                std::span<const PlannedTensor> out)
      : ProgramStep(planner, node, in, out), carried_(static_cast<std::size_t>(node.as<Loop>()->carried)) {
    const auto& limit = node.as<Loop>()->limit;
    if (limit) limit_ = limit->value();
    info.kernel = limit ? fmt::format("steps {}", limit_) : "steps";
    scratch_bytes = sizeof(Head);
    for (std::size_t i = 0; i < carried_; ++i) {
      spare_.push_back(scratch_bytes);
      bytes_.push_back(dense_bytes(node.output(i)->type()));
      scratch_bytes += aligned(bytes_.back());
    }
    for (std::size_t i = carried_; i < out.size(); ++i)
      bytes_.push_back(dense_bytes(plans_[0].plan().outputs[i + 1]));
    memory_ = scratch_bytes;
    scratch_bytes += plans_[0].memory_bytes();
  }

  void run(const Frame& frame) const override {
    Head& head = *reinterpret_cast<Head*>(frame.scratch);
    bool go_on = holds(frame.at<std::byte>(in_[0]));
    std::int64_t step = 0;
    for (; go_on && (limit_ < 0 || step < limit_); ++step) {
      head.step = step;
      plans_[0].run({[&](std::size_t i) { return parameter(i, step, frame); },
                     [&](std::size_t i) { return result(i, step, frame); }},
                    frame.scratch + memory_, frame.queue);
      go_on = holds(&head.go_on);
    }
    for (std::size_t i = 0; i < carried_; ++i) {
      const std::byte* last = carried(i, step, frame);
      std::byte* out = frame.at<std::byte>(out_[i]);
      if (last != out) std::copy_n(last, bytes_[i], out);
    }
  }

 private:
  struct alignas(64) Head {
    std::int64_t step;
    std::byte go_on;
  };

  // Where carried value i lies before a step.
  std::byte* carried(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (step == 0) return frame.at<std::byte>(in_[i + 1]);
    return step % 2 == 0 ? frame.scratch + spare_[i] : frame.at<std::byte>(out_[i]);
  }

  const std::byte* parameter(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (i == 0) return frame.scratch + offsetof(Head, step);
    return i <= carried_ ? carried(i - 1, step, frame) : frame.at<const std::byte>(in_[i]);
  }

  std::byte* result(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (i == 0) return frame.scratch + offsetof(Head, go_on);
    if (i <= carried_) return carried(i - 1, step + 1, frame);
    return frame.at<std::byte>(out_[i - 1]) + static_cast<std::size_t>(step) * bytes_[i - 1];
  }

  std::size_t carried_;
  std::int64_t limit_ = -1;
  std::vector<std::size_t> spare_;  // offsets of the second set in scratch memory
  std::vector<std::size_t> bytes_;  // of each carried value, then of each slice
  std::size_t memory_ = 0;          // offset of the region's memory
};

template <class S>
bool make(Planner& planner, const Node& node) {
  std::vector<PlannedTensor> in, out;
  for (const Value* v : node.inputs()) in.push_back(planner.dense(v));
  for (std::size_t i = 0; i < node.num_outputs(); ++i) {
    const Value* v = node.output(i);
    out.push_back(planner.places().place(v, row_major(v->rank()),
                                         [](const PlannedTensor& t) { return t.is_contiguous(); }));
  }
  auto step = std::make_unique<S>(planner, node, in, out);
  planner.emit(std::move(step), node, std::move(in), std::move(out));
  return true;
}

}  // namespace

bool make_if(Planner& planner, const Group& group) {
  return group.node().is<If>() && !gives_sizes(group.node()) && make<IfStep>(planner, group.node());
}

bool make_iteration(Planner& planner, const Group& group) {
  return group.node().is<Loop>() && !gives_sizes(group.node()) && make<IterationStep>(planner, group.node());
}

}  // namespace tenon
