// Reads features off a plan.
#include "runtime/cost/features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/ops/conv.h"
#include "runtime/cost/body.h"
#include "runtime/group_key.h"

namespace tenon {
namespace {

// Of "gemm+bias+relu".
std::string_view first_name(std::string_view text) {
  return text.substr(0, std::min(text.find('+'), text.find(" (")));
}

double element_bytes(const Strided& t) { return static_cast<double>(size_of(t.dtype())); }

// Axes of stride 0 hold one element.
double bytes_there(const Strided& t) {
  double count = 1;
  for (std::size_t i = 0; i < t.rank(); ++i)
    if (t.strides()[i] != 0) count *= static_cast<double>(t.shape()[i]);
  return count * element_bytes(t);
}

bool is_broadcast(const Strided& t) {
  for (std::size_t i = 0; i < t.rank(); ++i)
    if (t.shape()[i] > 1 && t.strides()[i] == 0) return true;
  return false;
}

double last_stride(const Strided& t) {
  for (std::size_t i = t.rank(); i-- > 0;)
    if (t.shape()[i] > 1) return static_cast<double>(std::abs(t.strides()[i]));
  return 1;
}

double contiguous_run(const Strided& t) {
  std::int64_t run = 1;
  for (std::size_t i = t.rank(); i-- > 0;) {
    if (t.shape()[i] <= 1) continue;
    if (t.strides()[i] != run) break;
    run *= t.shape()[i];
  }
  return static_cast<double>(run);
}

const TensorUse* largest(const std::vector<TensorUse>& tensors, bool constants) {
  const TensorUse* found = nullptr;
  for (const TensorUse& t : tensors)
    if ((constants || t.from != Buffer::Kind::constant) &&
        (!found || t.layout.numel() > found->layout.numel()))
      found = &t;
  return found;
}

std::string text_of(const TensorUse& t) {
  return fmt::format("{}{}[{}]", t.from == Buffer::Kind::constant ? "const " : "", t.layout.type_string(),
                     fmt::join(t.layout.strides(), ","));
}

void put_tensors(StepFeatures& step) {
  Features& f = step.numbers;
  f.operands = static_cast<double>(step.reads.size());
  f.results = static_cast<double>(step.writes.size());
  for (const TensorUse& t : step.reads) {
    (t.from == Buffer::Kind::constant ? f.weight_bytes : f.in_bytes) += bytes_there(t.layout);
    f.broadcast += is_broadcast(t.layout) ? 1 : 0;
  }
  for (const TensorUse& t : step.writes) f.out_bytes += bytes_of(t.layout);
  const TensorUse* out = largest(step.writes, true);
  const TensorUse* in = largest(step.reads, false);
  if (out) {
    f.elements = static_cast<double>(out->layout.numel());
    f.rank = static_cast<double>(out->layout.rank());
    f.element_bytes = element_bytes(out->layout);
    f.out_run = contiguous_run(out->layout);
    f.out_stride = last_stride(out->layout);
    f.channels_last = is_channels_last(out->layout) ? 1 : 0;
  }
  if (in) {
    f.in_run = contiguous_run(in->layout);
    f.in_stride = last_stride(in->layout);
  }
  f.turned =
      in && out && in->layout.rank() == out->layout.rank() && order_of(in->layout) != order_of(out->layout);
}

// Of the last of a group's folds.
void put_folds(StepFeatures& step, const Group& group) {
  for (const Node* member : group.members()) {
    std::vector<std::int64_t> axes;
    const std::size_t rank = member->inputs().empty() ? 0 : member->input()->rank();
    if (const auto reduction = reduction_of(member->op()))
      axes = reduction->axes;
    else if (member->op().info().row_axes)
      axes = member->op().info().row_axes(member->op().self(), rank);
    if (axes.empty()) continue;
    step.reduced_axes = axes;
    step.numbers.reduced = 1;
    for (const std::int64_t axis : axes) {
      const Dim& size = member->input()->shape()[static_cast<std::size_t>(axis)];
      step.numbers.reduced *= size.is_known() ? static_cast<double>(size.value()) : 1;
    }
    const auto last = static_cast<std::int64_t>(rank) - 1;
    step.numbers.reduced_inner = std::ranges::find(axes, last) != axes.end() ? 2 : 1;
  }
}

template <class C>
void put_window(Features& f, const C& conv, const Node& node) {
  const Shape& weight = node.input(1)->shape();
  f.taps = 1;
  for (std::size_t i = 2; i < weight.size(); ++i)
    f.taps *= weight[i].is_known() ? static_cast<double>(weight[i].value()) : 1;
  f.stride = static_cast<double>(conv.stride.back());
  f.dilation = static_cast<double>(conv.dilation.back());
  f.groups = static_cast<double>(conv.groups);
}

void put_body(StepFeatures& step, const Group& group) {
  Features& f = step.numbers;
  f.operators = static_cast<double>(group.members().size());
  put_primitives(f, group.node());
  for (const Node* member : group.members()) {
    if (const auto* conv = member->as<Conv>()) put_window(f, *conv, *member);
    if (const auto* conv = member->as<ConvTranspose>()) put_window(f, *conv, *member);
  }
  put_folds(step, group);
}

// Of a table that indices choose from, they read what they choose.
void leave_out(Features& f, double unread) {
  if (unread <= 0) return;
  const double constants = std::min(unread, f.weight_bytes);
  f.bytes -= unread;
  f.weight_bytes -= constants;
  f.in_bytes -= std::min(unread - constants, f.in_bytes);
  f.intensity = f.flops / f.bytes;
}

// The nest of the kernel that was taken.
void put_work(StepFeatures& step, const Plan& plan, std::size_t number) {
  auto of = std::ranges::upper_bound(plan.choices, number, {}, &Choice::first_step);  // they are in order
  if (of == plan.choices.begin() || (--of)->first_step + of->steps <= number) return;
  const StepInfo& info = plan.steps[number]->info;
  if (info.kind == StepKind::copy) return;
  step.candidates = of->candidates;
  step.taken = of->taken;
  const CandidateInfo& taken = of->candidates[of->taken];
  step.numbers.estimate_ms = 1e3 * taken.seconds;
  if (taken.kernel != info.kernel) return;
  const Work& work = taken.work;
  step.extents = {work.batch, work.rows, work.columns, work.depth};
  if (step.numbers.gathers > 0) leave_out(step.numbers, step.numbers.bytes - work.bytes);
}

// Of the step with the most operations among one and those of its plans.
const StepInfo& heaviest(const Step& step) {
  const StepInfo* found = &step.info;
  for (const auto& plan : step.plans())
    for (const auto& inner : plan->steps)
      if (const StepInfo& info = heaviest(*inner); info.flops > found->flops) found = &info;
  return *found;
}

void put_plans(Features& f, const Step& step) {
  for (const auto& plan : step.plans())
    for (const auto& inner : plan->steps) {
      Features of_inner;
      put_plans(of_inner, *inner);
      f.inner_steps += 1 + of_inner.inner_steps;
      f.flops += inner->info.flops + (inner->info.flops == 0 ? of_inner.flops : 0);
      f.bytes += inner->info.bytes + (inner->info.bytes == 0 ? of_inner.bytes : 0);
    }
}

std::vector<TensorUse> uses(const Plan& plan, const std::vector<PlannedTensor>& tensors) {
  std::vector<TensorUse> out;
  for (const PlannedTensor& t : tensors) out.push_back({t, plan.buffers[t.buffer()].kind});
  return out;
}

StepFeatures features_of(const Plan& plan, std::size_t number) {
  const Step& s = *plan.steps[number];
  StepFeatures step{
      .kernel = kernel_family(s.info), .reads = uses(plan, s.reads), .writes = uses(plan, s.writes)};
  step.arithmetic = heaviest(s).arithmetic;
  Features& f = step.numbers;
  Features inner;
  put_plans(inner, s);
  f.inner_steps = inner.inner_steps;
  f.flops = s.info.flops == 0 ? inner.flops : s.info.flops;
  f.bytes = s.info.bytes == 0 ? inner.bytes : s.info.bytes;
  f.intensity = f.bytes > 0 ? f.flops / f.bytes : 0;
  f.scratch_bytes = static_cast<double>(s.scratch_bytes);
  put_tensors(step);
  std::string text = fmt::format("{}|", s.info.kernel);
  step.extents = {1, 1, 1, 1};
  if (const Node* node = plan.nodes[number]; node && s.info.kind != StepKind::copy) {
    const Group group(*node);
    put_body(step, group);
    put_work(step, plan, number);
    text += wiring(group);
  }
  f.batch = static_cast<double>(step.extents[0]);
  f.rows = static_cast<double>(step.extents[1]);
  f.columns = static_cast<double>(step.extents[2]);
  f.depth = static_cast<double>(step.extents[3]);
  for (const auto& plan_of_step : s.plans())
    for (std::size_t i = 0; i < plan_of_step->steps.size(); ++i)
      text += fmt::format("|{}", features_of(*plan_of_step, i).key);
  for (const TensorUse& t : step.reads) text += fmt::format("|{}", text_of(t));
  text += " ->";
  for (const TensorUse& t : step.writes) text += fmt::format("|{}", text_of(t));
  step.key = hash_of(text);
  return step;
}

}  // namespace

std::string_view name(Buffer::Kind kind) {
  switch (kind) {
    case Buffer::Kind::input: return "input";
    case Buffer::Kind::output: return "output";
    case Buffer::Kind::constant: return "constant";
    default: return "arena";
  }
}

std::string kernel_family(const StepInfo& info) {
  if (info.kind == StepKind::reference) return fmt::format("reference {}", first_name(info.op));
  if (info.kind == StepKind::program) return fmt::format("program {}", first_name(info.op));
  return std::string(first_name(info.kernel));
}

std::vector<StepFeatures> features_of(const Plan& plan) {
  std::vector<StepFeatures> steps;
  const std::vector<std::size_t> live = plan.live_bytes();
  std::vector<double> made(plan.buffers.size(), 0);  // bytes moved before the step that wrote a buffer last
  double moved = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    StepFeatures step = features_of(plan, i);
    step.numbers.live_bytes = static_cast<double>(live[i]);
    step.numbers.distance = moved;
    for (const PlannedTensor& t : plan.steps[i]->reads)
      if (plan.buffers[t.buffer()].kind != Buffer::Kind::constant)
        step.numbers.distance = std::min(step.numbers.distance, moved - made[t.buffer()]);
    for (const PlannedTensor& t : plan.steps[i]->writes) made[t.buffer()] = moved;
    moved += step.numbers.bytes;
    steps.push_back(std::move(step));
  }
  for (StepFeatures& step : steps) step.numbers.model_bytes = moved;
  return steps;
}

}  // namespace tenon
