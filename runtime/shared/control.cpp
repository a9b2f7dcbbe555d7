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
          .faults = faults,
          .lists = frame.lists};
}

// A step made of plans.
class ProgramStep : public Step {
 public:
  void request() final {
    for (Subplan& p : plans_) p.request();
  }

  void compile() final {
    for (Subplan& p : plans_) {
      p.compile();
      faults += p.plan().faults;
    }
    take_memory();
  }

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
  ProgramStep(std::span<const PlannedTensor> in, std::span<const PlannedTensor> out) {
    info.kind = StepKind::program;
    for (const PlannedTensor& t : in) in_.push_back(t.address());
    for (const PlannedTensor& t : out) out_.push_back(t.address());
  }
  /// Says how much scratch memory a run needs, now that the plans are there.
  virtual void take_memory() = 0;

  std::vector<Subplan> plans_;
  std::vector<Address> in_, out_;
};

class IfStep : public ProgramStep {
 public:
  IfStep(Planner& planner, const Node& node, std::span<const PlannedTensor> in,
         std::span<const PlannedTensor> out)
      : ProgramStep(in, out) {
    for (const auto& region : node.regions()) plans_.emplace_back(planner, region_graph(*region));
    info.kernel = "branch";
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

 private:
  void take_memory() override {
    for (const Subplan& p : plans_) {
      scratch_bytes = std::max(scratch_bytes, p.scratch_bytes());
      host_scratch_bytes = std::max(host_scratch_bytes, p.host_scratch_bytes());
    }
  }
};

// What a loop goes on with is not known before a step is done, unless the loop runs to its limit.
std::unique_ptr<Graph> step_graph(const Node& loop) {
  auto graph = region_graph(loop.region());
  if (!runs_to_its_limit(loop)) return graph;
  std::vector<Value*> results = graph->body().results();
  graph->body().clear_results();
  for (Value* result : std::span(results).subspan(1)) graph->body().add_result(result);
  return graph;
}

// Carried values go to and fro between two sets of buffers: the outputs and scratch memory. The host gives
// the number of a step, and reads whether there is another one. Where the device records, all other memory of
// a step is that of the step before: slices are copied to their places.
class IterationStep : public ProgramStep {
 public:
  IterationStep(Planner& planner, const Node& node, std::span<const PlannedTensor> in,
                std::span<const PlannedTensor> out)
      : ProgramStep(in, out),
        carried_(static_cast<std::size_t>(node.as<Loop>()->carried)),
        is_counted_(runs_to_its_limit(node)),
        is_numbered_(!node.region().parameter(0)->uses().empty()) {
    plans_.emplace_back(planner, step_graph(node),
                        is_counted_ ? PlanOptions{} : PlanOptions{.pinned_outputs = {0}});
    const auto& limit = node.as<Loop>()->limit;
    if (limit) limit_ = limit->value();
    info.kernel = limit ? fmt::format("steps {}", limit_) : "steps";
    numbers_ = is_counted_ && is_numbered_ ? std::clamp<std::int64_t>(limit_, 1, max_numbers) : 1;
  }

  void run(const Frame& frame) const override {
    frame.queue.wait();
    bool go_on = holds(frame.at(in_[0])) && !any_found(frame.faults);
    std::int64_t step = 0;
    for (; go_on && (limit_ < 0 || step < limit_); ++step) {
      give_number(step, frame);
      plans_[0].run({[&](std::size_t i) { return parameter(i, step, frame); },
                     [&](std::size_t i) { return result(i, step, frame); }},
                    inside(frame, memory_, head_bytes(), faults_in(frame.faults)));
      for (std::size_t i = carried_; i < spare_.size(); ++i)
        copy(slice(i, step, frame), frame.scratch + spare_[i], i, frame);
      if (is_counted_) continue;
      frame.queue.wait();
      go_on = holds(frame.host_scratch) && !any_found(frame.faults);
    }
    for (std::size_t i = 0; i < carried_; ++i)
      if (const std::byte* last = carried(i, step, frame); last != frame.at(out_[i]))
        copy(frame.at(out_[i]), last, i, frame);
  }

 private:
  static constexpr std::int64_t max_numbers = 1024;

  void take_memory() override {
    const Plan& plan = plans_[0].plan();
    number_ = take(sizeof(std::int64_t));
    for (std::size_t i = 0; i < out_.size(); ++i) {
      bytes_.push_back(dense_bytes(plan.outputs[is_counted_ ? i : i + 1]));
      if (i < carried_ || !plan.recorded.empty()) spare_.push_back(take(bytes_.back()));
    }
    memory_ = scratch_bytes;
    scratch_bytes += plans_[0].scratch_bytes();
    host_scratch_bytes = head_bytes() + plans_[0].host_scratch_bytes();
  }

  std::size_t take(std::size_t bytes) {
    const std::size_t at = scratch_bytes;
    scratch_bytes += in_lines(bytes);
    return at;
  }
  // Whether to go on, then numbers of steps: of as many as may run before the host waits for them.
  std::size_t head_bytes() const {
    return in_lines(1) + in_lines(static_cast<std::size_t>(numbers_) * sizeof(std::int64_t));
  }

  void copy(std::byte* to, const std::byte* from, std::size_t output, const Frame& frame) const {
    if (bytes_[output] > 0) frame.queue.copy(to, from, bytes_[output]);
  }

  void give_number(std::int64_t step, const Frame& frame) const {
    if (!is_numbered_) return;
    if (is_counted_ && step > 0 && step % numbers_ == 0) frame.queue.wait();
    auto& number = reinterpret_cast<std::int64_t*>(frame.host_scratch + in_lines(1))[step % numbers_];
    number = step;
    frame.queue.copy(frame.scratch + number_, &number, sizeof number);
  }

  // Where carried value i lies before a step.
  std::byte* carried(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (step == 0) return frame.at(in_[i + 1]);
    return step % 2 == 0 ? frame.scratch + spare_[i] : frame.at(out_[i]);
  }
  std::byte* slice(std::size_t i, std::int64_t step, const Frame& frame) const {
    return frame.at(out_[i]) + static_cast<std::size_t>(step) * bytes_[i];
  }

  const std::byte* parameter(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (i == 0) return frame.scratch + number_;
    return i <= carried_ ? carried(i - 1, step, frame) : frame.at(in_[i]);
  }

  std::byte* result(std::size_t i, std::int64_t step, const Frame& frame) const {
    if (!is_counted_ && i-- == 0) return frame.host_scratch;
    if (i < carried_) return carried(i, step + 1, frame);
    return i < spare_.size() ? frame.scratch + spare_[i] : slice(i, step, frame);
  }

  std::size_t carried_;
  bool is_counted_, is_numbered_;
  std::int64_t limit_ = -1, numbers_ = 1;
  std::vector<std::size_t> bytes_;  // of each output: the carried values, then one step's slices
  std::vector<std::size_t> spare_;  // offsets of memory for them in scratch, of slices where it is needed
  std::size_t number_ = 0, memory_ = 0;  // offsets of the number of a step, and of the region's memory
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
