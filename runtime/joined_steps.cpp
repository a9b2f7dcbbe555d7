#include "runtime/joined_steps.h"

#include <algorithm>

namespace tenon {
namespace {

// What a step writes is in memory from where it joins on. So far up, memory grows little.
constexpr std::size_t most_steps_up = 16;

// Puts what is known of both steps into the one that does what they do.
void describe(Step& both, const Step& first, Step& second) {
  const std::string kernel = std::move(both.info.kernel);
  both.info = first.info;
  both.info.kernel = kernel;
  both.info.op += ", " + second.info.op;
  if (second.info.kind == StepKind::kernel) both.info.kind = StepKind::kernel;
  if (second.info.flops > first.info.flops) both.info.arithmetic = second.info.arithmetic;
  both.info.flops += second.info.flops;
  both.info.bytes += second.info.bytes;
  both.reads = first.reads;
  both.writes = first.writes;
  both.reads.insert(both.reads.end(), second.reads.begin(), second.reads.end());
  both.writes.insert(both.writes.end(), second.writes.begin(), second.writes.end());
}

// The step is none of its own any more, but a part of an earlier one.
void leave_out(std::vector<Choice>& choices, std::size_t step, std::size_t part_of) {
  for (Choice& choice : choices) {
    if (choice.joined && *choice.joined > step) --*choice.joined;
    if (choice.first_step > step) {
      --choice.first_step;
    } else if (step < choice.first_step + choice.steps) {
      if (--choice.steps == 0) choice.joined = part_of;
    }
  }
}

}  // namespace

void join_steps(Plan& plan) {
  auto& steps = plan.steps;
  const std::vector<Dependency> dependencies = data_dependencies(steps, most_steps_up);
  std::vector<std::size_t> runs_at(steps.size());
  auto next = dependencies.begin();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    runs_at[i] = i;
    std::size_t at = i - std::min(i, most_steps_up);
    for (; next != dependencies.end() && next->step == i; ++next) at = std::max(at, runs_at[next->on] + 1);
    for (; at < i && steps[i]; ++at) {
      auto both = steps[at] ? steps[at]->joined(*steps[i]) : nullptr;
      if (!both) continue;
      describe(*both, *steps[at], *steps[i]);
      steps[at] = std::move(both);
      steps[i] = nullptr;
      runs_at[i] = at;
    }
  }
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (steps[i]) continue;
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i));
    plan.nodes.erase(plan.nodes.begin() + static_cast<std::ptrdiff_t>(i));
    leave_out(plan.choices, i, runs_at[i]);
  }
}

}  // namespace tenon
