#include "runtime/gpu/loop.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/gpu/loop_faults.h"
#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_split.h"
#include "runtime/calls/loop.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/loop_fault.h"
#include "runtime/gpu/queue.h"

namespace tenon::gpu {
namespace {

// Kernels take so many addresses at most.
constexpr std::size_t max_buffers = 64;

// Few long rows are cut into parts, whose folds lie in memory between the loops.
void emit_parts(Planner& planner, const Group& group, PlacedLoop placed, SplitLoop parts) {
  std::vector<PlannedTensor> buffers = placed.loop.buffers, between;
  for (const SplitLoop::Scratch& s : parts.scratch)
    between.push_back(planner.bytes(static_cast<std::size_t>(s.elements) * size_of(s.dtype)));
  buffers.insert(buffers.end(), between.begin(), between.end());
  placed.reads.insert(placed.reads.end(), between.begin(), between.end());
  for (std::size_t i = 0; i < parts.programs.size(); ++i) {
    auto step = make_loop_step(gpu_of(planner), {std::move(parts.programs[i]), buffers});
    step->info.kernel = i + 1 < parts.programs.size() ? "row loop in parts" : "row loop";
    if (i + 1 < parts.programs.size())
      planner.prepare(std::move(step), placed.reads, between);
    else
      planner.emit(std::move(step), group.node(), placed.reads, placed.writes);
  }
}

void emit(Planner& planner, const Group& group, const LoopCall& call) {
  PlacedLoop placed = place_loop(planner, group, call);
  SplitLoop parts = split_rows(placed.loop.program, limits_of(gpu_of(planner)));
  if (!parts.programs.empty()) return emit_parts(planner, group, std::move(placed), std::move(parts));
  planner.emit(make_loop_step(gpu_of(planner), placed.loop), group.node(), std::move(placed.reads),
               std::move(placed.writes));
}

// Elements are copied as integers of their size: no bit changes. One of 16 bytes is two of 8.
DType bits_of(DType dtype) {
  switch (size_of(dtype)) {
    case 1: return DType::u8;
    case 2: return DType::i16;
    case 4: return DType::i32;
    case 8:
    case 16: return DType::i64;
    default: TENON_CHECK(false);
  }
}

// Axes from the target's outermost to its innermost, so that what is written is contiguous where it can be.
LoopProgram copy_program(const Strided& from, const Strided& to) {
  LoopOperand source{.buffer = 0, .dtype = bits_of(from.dtype())}, target{.buffer = 1, .dtype = source.dtype};
  const auto parts = static_cast<std::int64_t>(size_of(from.dtype()) / size_of(source.dtype));
  std::vector<std::int64_t> sizes;
  for (const std::int64_t axis : order_of(to)) {
    const auto a = static_cast<std::size_t>(axis);
    sizes.push_back(to.shape()[a]);
    source.strides.push_back(parts * from.strides()[a]);
    target.strides.push_back(parts * to.strides()[a]);
  }
  if (parts > 1) {
    sizes.push_back(parts);
    source.strides.push_back(1);
    target.strides.push_back(1);
  }
  LoopProgram program("copy", std::move(sizes));
  const Reg element = program.load(std::move(source));
  program.store(std::move(target), element);
  return program;
}

// What one launch computes: a loop, or several that touch nothing that another of them writes.
class LoopStep : public LaunchStep {
 public:
  struct Part {
    LoopProgram program;  // arranged
    LoopForm form;
    LoopLaunch launch;
    std::vector<PlannedTensor> buffers;
  };
  LoopStep(Gpu& gpu, std::vector<Part> parts)
      : LaunchStep(gpu, kernel_of(parts)), gpu_(gpu), parts_(std::move(parts)) {}

  std::unique_ptr<Step> joined(const Step& other) const override {
    const auto* loops = dynamic_cast<const LoopStep*>(&other);
    if (!loops) return nullptr;
    std::vector<Part> parts = parts_;
    parts.insert(parts.end(), loops->parts_.begin(), loops->parts_.end());
    if (!may_join(parts)) return nullptr;
    auto both = std::make_unique<LoopStep>(gpu_, std::move(parts));
    both->info.kernel = fmt::format("{} loops", both->parts_.size());
    return both;
  }

 private:
  // Points without faults; and together less than what fills the device, since the time of more is not that
  // of its launch.
  bool may_join(const std::vector<Part>& parts) const {
    constexpr std::size_t most_parts = 8, most_parameter_bytes = 4000;  // drivers take 4096
    const GpuLimits limits = limits_of(gpu_);
    std::int64_t threads = 0;
    std::size_t buffers = 0, bytes = 0;
    for (const Part& part : parts) {
      if (part.form.group != RowGroup::none || part.form.threads != parts[0].form.threads ||
          reports_faults(part.program.code))
        return false;
      threads += part.launch.grid * part.launch.block;
      buffers += part.buffers.size();
      bytes += loop_arguments(part.program, part.form).size() + sizeof(std::int64_t);
    }
    return parts.size() <= most_parts && buffers <= max_buffers &&
           bytes + buffers * sizeof(void*) <= most_parameter_bytes &&
           threads <= std::int64_t{limits.processors} * limits.threads_per_processor;
  }

  static Kernel kernel_of(const std::vector<Part>& parts) {
    if (parts.size() == 1) {
      const auto& [program, form, launch, buffers] = parts[0];
      return {.source = translation_unit(loop_header, loop_source(program.code, form, "loop")),
              .name = "loop",
              .size = {{launch.grid, 1, 1}, launch.block, launch.shared_bytes},
              .buffers = buffers,
              .arguments = {loop_arguments(program, form)},
              .may_fault = reports_faults(program.code),
              .complaint = loop_error};
    }
    Kernel kernel{.name = "loops"};
    std::vector<LoopPart> sources;
    std::vector<std::int64_t> ends;
    std::int64_t blocks = 0;
    for (const auto& [program, form, launch, buffers] : parts) {
      sources.push_back({program.code, form});
      ends.push_back(blocks += launch.grid);
      kernel.buffers.insert(kernel.buffers.end(), buffers.begin(), buffers.end());
      kernel.arguments.push_back(loop_arguments(program, form));
    }
    kernel.source = translation_unit(loop_header, joined_source(sources, kernel.name));
    kernel.size = {.grid = {blocks, 1, 1}, .block = parts[0].launch.block};
    kernel.arguments.push_back(struct_of(ends));
    return kernel;
  }

  Gpu& gpu_;
  const std::vector<Part> parts_;
};

}  // namespace

GpuLimits limits_of(const Gpu& gpu) { return {.processors = gpu.multiprocessors(), .wave = gpu.warp()}; }

Gpu& gpu_of(Planner& planner) { return gpu_queue(planner.queue()).gpu(); }

std::unique_ptr<LaunchStep> make_loop_step(Gpu& gpu, const LoweredLoop& loop) {
  LoopProgram program = arranged(loop.program);
  const GpuLimits limits = limits_of(gpu);
  const LoopForm form = loop_form(program, limits);
  const LoopLaunch launch = loop_launch(program, form, limits);
  std::vector<PlannedTensor> buffers(loop.buffers.begin(), loop.buffers.begin() + program.buffer_count());
  return std::make_unique<LoopStep>(
      gpu, std::vector<LoopStep::Part>{{std::move(program), form, launch, std::move(buffers)}});
}

std::unique_ptr<Step> make_copy(Gpu& gpu, const PlannedTensor& from, const PlannedTensor& to) {
  auto step = make_loop_step(gpu, {copy_program(from, to), {from, to}});
  step->info.kind = StepKind::copy;
  step->info.op = step->info.kernel = "copy";
  return step;
}

std::vector<Candidate> lower_loop(const Planner& planner, const Group& group) {
  if (count_buffers(group) > max_buffers) return {};
  const auto call = LoopCall::match(group);
  if (!call) return {};
  const Work work = call->work(group);
  const CandidateInfo info{.kernel = call->axes.reduced > 0 ? "row loop" : "loop",
                           .work = work,
                           .seconds = planner.estimate(work.flops, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace tenon::gpu
