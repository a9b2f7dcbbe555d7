#include "runtime/gpu/loop.h"

#include <algorithm>

#include "kernels/gpu/loop_source.h"
#include "kernels/gpu/loop_split.h"
#include "runtime/calls/loop.h"
#include "runtime/gpu/queue.h"
#include "runtime/gpu/zero_division.h"

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

}  // namespace

GpuLimits limits_of(const Gpu& gpu) { return {.processors = gpu.multiprocessors(), .wave = gpu.warp()}; }

Gpu& gpu_of(Planner& planner) { return gpu_queue(planner.queue()).gpu(); }

std::unique_ptr<LaunchStep> make_loop_step(Gpu& gpu, const LoweredLoop& loop) {
  const LoopProgram program = arranged(loop.program);
  const GpuLimits limits = limits_of(gpu);
  const LoopForm form = loop_form(program, limits);
  const LoopLaunch launch = loop_launch(program, form, limits);
  const auto& instructions = program.code.instructions;
  return std::make_unique<LaunchStep>(
      gpu,
      LaunchStep::Kernel{.source = translation_unit(loop_header, loop_source(program.code, form, "loop")),
                         .name = "loop",
                         .size = {{launch.grid, 1, 1}, launch.block, launch.shared_bytes},
                         .buffers = {loop.buffers.begin(), loop.buffers.begin() + program.buffer_count()},
                         .arguments = {loop_arguments(program, form)},
                         .may_fault = std::any_of(instructions.begin(), instructions.end(), may_fault)});
}

std::unique_ptr<Step> make_copy(Gpu& gpu, const PlannedTensor& from, const PlannedTensor& to) {
  auto step = make_loop_step(gpu, {copy_program(from, to), {from, to}});
  step->info.kind = StepKind::copy;
  step->info.op = step->info.kernel = "copy";
  return step;
}

std::vector<Candidate> lower_loop(const Planner& planner, const Group& group) {
  if (count_buffers(group) > max_buffers || may_divide_by_zero(group)) return {};
  const auto call = LoopCall::match(group);
  if (!call) return {};
  const Work work = call->work(group);
  const CandidateInfo info{.kernel = call->axes.reduced > 0 ? "row loop" : "loop",
                           .work = work,
                           .seconds = planner.estimate(work.flops, work.bytes)};
  return {{info, [=](Planner& p, const Group& g) { emit(p, g, *call); }}};
}

}  // namespace tenon::gpu
