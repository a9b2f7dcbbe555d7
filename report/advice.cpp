// One rule for each sentence.
#include "report/advice.h"

#include <algorithm>
#include <numeric>

#include "base/count.h"

namespace tenon {
namespace {

using Advice = std::optional<std::string>;

template <class Condition>
std::pair<std::size_t, double> steps_where(const ProfileReport& p, Condition holds) {
  std::pair<std::size_t, double> found{0, 0};
  for (const StepRow& s : p.steps)
    if (holds(s)) {
      ++found.first;
      found.second += s.share;
    }
  return found;
}

Advice reference_kernels(const ProfileReport& p) {
  std::string names;
  const auto [count, share] = steps_where(p, [&](const StepRow& s) {
    if (s.kind != StepKind::reference) return false;
    if (names.find(s.op) == std::string::npos) names += (names.empty() ? "" : ", ") + s.op;
    return true;
  });
  if (count == 0) return {};
  return fmt::format("{} of {} run the plain reference, {:.0f}% of the time: {}", count,
                     counted(p.steps.size(), "step"), 100 * share, names);
}

Advice furthest_below_roof(const ProfileReport& p) {
  const StepRow* worst = nullptr;
  const auto lost = [](const StepRow& s) { return s.share * (1 - std::min(1.0, s.roofline.value_or(1))); };
  for (const StepRow& s : p.steps)
    if (s.flops > 0 || s.bytes > 0)
      if (!worst || lost(s) > lost(*worst)) worst = &s;
  if (!worst || lost(*worst) < 0.1) return {};
  return fmt::format("step {} ({}) takes {:.0f}% of the time and reaches {:.0f}% of the roofline",
                     worst->index, worst->op, 100 * worst->share, 100 * worst->roofline.value_or(0));
}

Advice bound_by_memory(const ProfileReport& p) {
  const auto [count, share] = steps_where(p, [](const StepRow& s) { return s.roofline && s.memory_bound; });
  if (share < 0.3) return {};
  return fmt::format("{:.0f}% of the time is in {} of {} that memory bounds, not arithmetic", 100 * share,
                     count, counted(p.steps.size(), "step"));
}

Advice copies(const ProfileReport& p) {
  const auto [count, share] = steps_where(p, [](const StepRow& s) { return s.kind == StepKind::copy; });
  if (share < 0.03) return {};
  return fmt::format("{} {:.0f}% of the time", counted(count, "copy takes", "copies take"), 100 * share);
}

// A machine that is busy or throttled, or a kernel that is bad at these sizes.
Advice slower_than_predicted(const ProfileReport& p) {
  const StepRow* worst = nullptr;
  const auto [count, share] = steps_where(p, is_slow);
  const auto lost = [](const StepRow& s) { return s.ms - s.predicted->ms; };
  for (const StepRow& s : p.steps)
    if (is_slow(s) && (!worst || lost(s) > lost(*worst))) worst = &s;
  if (share < 0.01) return {};
  return fmt::format("slower than predicted: {} of {}, {:.0f}% of the time; step {} ({}) by {:.1f} times",
                     count, counted(p.steps.size(), "step"), 100 * share, worst->index, worst->op,
                     worst->ms / worst->predicted->ms);
}

Advice threads(const ProfileReport& p) {
  if (p.machine.cores <= p.threads || !p.streams.empty()) return {};
  return fmt::format("{} of {} cores used: --threads {}", p.threads, p.machine.cores, p.machine.cores);
}

Advice noise(const ProfileReport& p) {
  const Summary& l = p.run.latency;
  const double steps = std::accumulate(p.steps.begin(), p.steps.end(), 0.0,
                                       [](double sum, const StepRow& s) { return sum + s.ms; });
  if (steps < 0.8 * l.median)
    return fmt::format("the medians of the steps sum to {:.0f}% of the median run: this machine is busy",
                       100 * steps / l.median);
  if (l.p90 < 1.2 * l.median) return {};
  return fmt::format(
      "the slowest tenth of the runs took {:.1f} times the median and more: this machine is busy",
      l.p90 / l.median);
}

Advice heavy_timers(const ProfileReport& p) {
  if (p.overhead_ci95.low < 0.02) return {};
  return "the step timers weigh more than 2% of a run: read step times as shares";
}

}  // namespace

std::vector<std::string> advice_for(const ProfileReport& p) {
  std::vector<std::string> lines;
  for (const auto rule : {reference_kernels, furthest_below_roof, bound_by_memory, slower_than_predicted,
                          copies, threads, noise, heavy_timers})
    if (Advice line = rule(p)) lines.push_back(std::move(*line));
  return lines;
}

}  // namespace tenon
