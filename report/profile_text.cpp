// Tables and sentences of a profile.
#include "report/profile_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/count.h"
#include "report/advice.h"
#include "report/table.h"

namespace tenon {
namespace {

constexpr double mib = 1 << 20;

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }
// Four digits that count, as long as they are not below 0.1 us.
std::string ms_text(double ms) {
  return fmt::format("{:.{}f}", ms, ms >= 100 ? 1 : ms >= 10 ? 2 : ms >= 0.1 ? 3 : 4);
}

// What times of this size are read in: small ones in microseconds.
struct Unit {
  explicit Unit(double ms) : micro(ms > 0 && ms < 0.1) {}
  bool micro;

  const char* name() const { return micro ? "us" : "ms"; }
  std::string text(double ms) const {
    return micro ? fmt::format("{:.{}f}", ms * 1e3, ms < 0.01 ? 2 : 1) : ms_text(ms);
  }
};

// Of fewer runs neither intervals nor percentiles mean anything.
constexpr std::size_t least_runs = 10;
std::string number(double x) {
  return x <= 0 ? "" : x >= 100 ? fmt::format("{:.0f}", x) : fmt::format("{:.1f}", x);
}
std::string sizes_text(const Bindings& sizes) {
  std::string text;
  for (const auto& [symbol, size] : sizes)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", symbol, size);
  return text;
}

// In which most of the operations are.
ArithmeticKind main_arithmetic(const ProfileReport& p) {
  std::array<double, arithmetic_kinds.size()> flops{};
  for (const StepRow& s : p.steps) flops[static_cast<std::size_t>(s.features.arithmetic)] += s.flops;
  return arithmetic_kinds[static_cast<std::size_t>(std::ranges::max_element(flops) - flops.begin())];
}

// ", 208 in bf16", where that is another rate than that of ordinary lanes.
std::string main_rate(const ProfileReport& p) {
  const ArithmeticKind a = main_arithmetic(p);
  const double rate = p.machine.peak->gflops_of(a);
  return rate == p.machine.peak->gflops ? "" : fmt::format(", {:.0f} in {}", rate, name(a));
}

std::string header(const ProfileReport& p) {
  const bool on_cpu = !p.machine.isa.empty();
  std::string text = fmt::format("{} on {}, {}{}", p.model.path, p.device,
                                 on_cpu ? counted(p.threads, "thread") + " of " : "", p.machine.cpu);
  if (p.machine.peak)
    text += fmt::format(" ({}{:.0f} GFLOP/s{}, {:.1f} GB/s)", on_cpu ? p.machine.isa + ": " : "",
                        p.machine.peak->gflops, main_rate(p), p.machine.peak->gbs);
  text += "\n";
  for (const auto& input : p.model.inputs) text += fmt::format("  {}: {}", input.name, input.type);
  if (!p.run.sizes.empty()) text += "  with " + sizes_text(p.run.sizes);
  return text + "\n\n";
}

// Lines of at most `width` characters, broken behind commas.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  while (text.size() - begin > width) {
    const std::size_t comma = text.rfind(", ", begin + width);
    if (comma == std::string::npos || comma <= begin) break;
    lines.push_back(text.substr(begin, comma + 1 - begin));
    begin = comma + 2;
  }
  lines.push_back(text.substr(begin));
  return lines;
}

std::string pipeline(const ProfileReport& p) {
  Table table({"stage", "ms", "passes: ms (rewrites)"});
  for (const PipelineStage& s : p.stages) {
    std::string passes;
    for (const PassTime& pass : s.passes)
      passes +=
          fmt::format("{}{} {:.1f} ({})", passes.empty() ? "" : ", ", pass.pass, pass.ms, pass.rewrites);
    const std::vector<std::string> lines = wrapped(passes, 76);
    table.add({s.name == "first_run" ? "first run" : s.name, fmt::format("{:.1f}", s.ms), lines[0]});
    for (std::size_t i = 1; i < lines.size(); ++i) table.add({"", "", lines[i]});
  }
  const Unit unit(p.run.latency.median);
  table.add(
      {"run",
       unit.micro ? unit.text(p.run.latency.median) + " us" : fmt::format("{:.1f}", p.run.latency.median),
       "median"});
  return table.str() + "\n";
}

std::string step_table(const ProfileReport& p, const TextOptions& o) {
  std::vector<const StepRow*> slowest;
  for (const StepRow& s : p.steps) slowest.push_back(&s);
  std::stable_sort(slowest.begin(), slowest.end(),
                   [](const auto* a, const auto* b) { return a->ms > b->ms; });
  const std::size_t shown =
      o.top == 0 ? slowest.size() : std::min<std::size_t>(slowest.size(), static_cast<std::size_t>(o.top));
  const bool kernels = o.width >= 110;
  const std::size_t words = o.width - (kernels ? 71 : 69);  // for op, kernel and module
  const Unit unit(slowest.empty() ? 0 : slowest[0]->ms);
  std::vector<std::string> head{"#",       unit.name(), "share",    "MFLOP", "MiB",
                                "GFLOP/s", "GB/s",      "roofline", "op"};
  if (kernels) head.push_back("kernel");
  head.push_back("module");
  Table table(head);
  for (std::size_t i = 0; i < shown; ++i) {
    const StepRow& s = *slowest[i];
    std::vector<std::string> row{std::to_string(s.index),
                                 (is_slow(s) ? "!" : "") + unit.text(s.ms),
                                 percent(s.share),
                                 number(s.flops * 1e-6),
                                 number(s.bytes / mib),
                                 number(s.gflops),
                                 number(s.gbs)};
    row.push_back(s.roofline ? fmt::format("{:.0f}% {}", 100 * *s.roofline, s.memory_bound ? "mem" : "flop")
                             : "");
    row.push_back(shorten(s.op, words / 3));
    if (kernels) row.push_back(shorten(s.kernel, words / 4));
    row.push_back(shorten(s.module, words - words / 3 - (kernels ? words / 4 : 0)));
    table.add(row);
  }
  return table.str();
}

std::string time_table(const char* head, const std::vector<TimeRow>& rows, const TextOptions& o) {
  double largest = 0;
  for (const TimeRow& r : rows) largest = std::max(largest, r.ms);
  const Unit unit(largest);
  Table table({unit.name(), "share", "MFLOP", "MiB", "GFLOP/s", "GB/s", "steps", head});
  for (std::size_t i = 0; i < rows.size() && (o.top == 0 || i < static_cast<std::size_t>(o.top)); ++i) {
    const TimeRow& r = rows[i];
    const double per_ms = r.ms > 0 ? 1e-6 / r.ms : 0;
    table.add({(r.estimated ? "~" : "") + unit.text(r.ms), percent(r.share), number(r.flops * 1e-6),
               number(r.bytes / mib), number(r.flops * per_ms), number(r.bytes * per_ms),
               std::to_string(r.steps), r.name.empty() ? "(not attributed)" : shorten(r.name, o.width - 56)});
  }
  return table.str();
}

std::string times(const ProfileReport& p, const TextOptions& o) {
  const auto rest = [&](std::size_t rows, const char* what) {
    const double total = std::accumulate(p.steps.begin(), p.steps.end(), 0.0,
                                         [](double sum, const StepRow& s) { return sum + s.ms; });
    const bool cut = o.top > 0 && rows > static_cast<std::size_t>(o.top);
    const Unit unit(total);
    return fmt::format("{}, {} {} in all{}\n\n", counted(rows, what), unit.text(total), unit.name(),
                       cut ? fmt::format("; the {} slowest are shown{}", o.top, o.show_all) : "");
  };
  if (o.by == TimesBy::step) return step_table(p, o) + rest(p.steps.size(), name(o.by));
  const std::vector<TimeRow> rows = summed(p.steps, o.by, o.depth);
  return time_table(name(o.by), rows, o) + rest(rows.size(), name(o.by));
}

std::string latency(const ProfileReport& p) {
  const Summary& l = p.run.latency;
  const Unit unit(l.median);
  const std::string runs = counted(p.run.samples_ms.size(), "run");
  const auto t = [&](double ms) { return unit.text(ms); };
  if (p.run.samples_ms.size() < least_runs)
    return fmt::format(
        "latency {}   median {}, min {}, max {}; {} after {} to warm up, too few for intervals\n",
        unit.name(), t(l.median), t(l.min), t(l.max), runs, p.warmup);
  return fmt::format("latency {}   median {} (95% CI {} to {}), mean {}, stddev {}\n", unit.name(),
                     t(l.median), t(l.ci95.low), t(l.ci95.high), t(l.mean), t(l.stddev)) +
         fmt::format("             min {}, p50 {}, p90 {}, p99 {}, max {}; {} after {} to warm up\n",
                     t(l.min), t(l.p50), t(l.p90), t(l.p99), t(l.max), runs, p.warmup);
}

// Where they add something: the interval is above zero.
std::string step_timers(const ProfileReport& p) {
  if (p.timeline.size() < least_runs || p.overhead_ci95.low <= 0) return "";
  return fmt::format(
      "step timers  add {:+.2f}% to a run (95% CI {:+.2f}% to {:+.2f}%, {} in turns without them)\n",
      100 * p.overhead, 100 * p.overhead_ci95.low, 100 * p.overhead_ci95.high,
      counted(p.timeline.size(), "run"));
}

std::string summary(const ProfileReport& p) {
  std::string text = latency(p);
  if (p.calm && p.calm->runs == 0)
    text += "calm         none of these runs, other programs took the machine's time: give more seconds\n";
  else if (p.calm)
    text += fmt::format("calm         these runs; {} left out, which other programs disturbed\n",
                        counted(p.calm->left_out, "other is", "others are"));
  text += fmt::format("throughput   {:.1f} runs/s", p.run.throughput_per_s);
  if (p.run.items_per_s > p.run.throughput_per_s * 1.001)
    text += fmt::format(", {:.1f} items/s", p.run.items_per_s);
  text += fmt::format(
      "\nmemory       arena {:.1f} MiB, scratch {:.1f}, weights {:.1f}, packed weights {:.1f}\n"
      "             process {:.1f} MiB of its own, {:.1f} with files at its peak\n",
      static_cast<double>(p.run.arena_bytes) / mib, static_cast<double>(p.run.scratch_bytes) / mib,
      static_cast<double>(p.model.weight_bytes) / mib, static_cast<double>(p.run.packed_bytes) / mib,
      static_cast<double>(p.run.process.own) / mib, static_cast<double>(p.run.process.peak) / mib);
  return text + step_timers(p);
}

std::string unfused(const ProfileReport& p) {
  const Unfused& u = *p.unfused;
  Table table({"", "steps", "ms", "MiB moved", "arena MiB"});
  const auto row = [&](const char* name, const SizedRun& r, double ms, double bytes) {
    table.add({name, std::to_string(r.steps), ms_text(ms), fmt::format("{:.1f}", bytes / mib),
               fmt::format("{:.1f}", static_cast<double>(r.arena_bytes) / mib)});
  };
  row("unfused", u.run, u.run.latency.median, u.bytes);
  row("fused", p.run, u.fused_ms, u.fused_bytes);
  return fmt::format("\n{}fusion makes it {:.2f} times as fast (95% CI {:.2f} to {:.2f}, interleaved runs)\n",
                     table.str(), u.ratio, u.ratio_ci95.low, u.ratio_ci95.high);
}

std::string streams(const ProfileReport& p) {
  Table table({"streams", "runs/s", "95% CI", "ratio", "median ms", "p99"});
  const double first = median(p.streams.front().runs_per_s);
  for (const Throughput& t : p.streams) {
    const Interval ci = median_interval(t.runs_per_s);
    const double rate = median(t.runs_per_s);
    table.add({std::to_string(t.streams), fmt::format("{:.1f}", rate),
               fmt::format("{:.1f} to {:.1f}", ci.low, ci.high), fmt::format("{:.2f}", rate / first),
               ms_text(median(t.latency_ms)), ms_text(quantile(t.latency_ms, 0.99))});
  }
  return "\n" + table.str();
}

std::string sweep(const ProfileReport& p) {
  Table table({"sizes", "median ms", "95% CI", "p99", "runs/s", "items/s", "arena MiB", "plan ms"});
  for (const SizedRun& r : p.sweep) {
    const bool enough = r.samples_ms.size() >= least_runs;
    table.add({sizes_text(r.sizes), ms_text(r.latency.median),
               enough ? ms_text(r.latency.ci95.low) + " to " + ms_text(r.latency.ci95.high) : "",
               enough ? ms_text(r.latency.p99) : "", fmt::format("{:.1f}", r.throughput_per_s),
               fmt::format("{:.1f}", r.items_per_s),
               fmt::format("{:.1f}", static_cast<double>(r.arena_bytes) / mib),
               fmt::format("{:.1f}", r.plan_ms)});
  }
  return "\n" + table.str();
}

}  // namespace

std::string to_text(const ProfileReport& p, const TextOptions& o) {
  std::string text = header(p) + pipeline(p) + times(p, o) + summary(p);
  if (p.unfused) text += unfused(p);
  if (!p.streams.empty()) text += streams(p);
  if (p.sweep.size() > 1) text += sweep(p);
  const std::vector<std::string> advice = advice_for(p);
  if (!advice.empty()) text += "\n";
  for (const std::string& line : advice) text += "note  " + line + "\n";
  if (p.comparison) text += "\n" + to_text(*p.comparison, o);
  return text;
}

std::string to_text(const Comparison& c, const TextOptions& o) {
  const std::string of_before = str(c.inputs_before), of_after = str(c.inputs_after);
  std::string text = fmt::format("before  {}\nafter   {}\n", c.before, c.after);
  text += of_before == of_after ? fmt::format("inputs  {}\n", of_before)
                                : fmt::format("inputs  {}; after: {}\n", of_before, of_after);
  std::vector<const Change*> changes;
  for (const Change& s : c.steps) changes.push_back(&s);
  // Alarms first, then what changed most, in milliseconds.
  std::stable_sort(changes.begin(), changes.end(), [](const Change* a, const Change* b) {
    if (a->slower != b->slower) return a->slower;
    return std::abs(a->after_ms - a->before_ms) > std::abs(b->after_ms - b->before_ms);
  });
  if (o.top > 0 && changes.size() > static_cast<std::size_t>(o.top))
    changes.resize(static_cast<std::size_t>(o.top));
  Table table({"before ms", "after ms", "ratio", "95% CI", "steps", "", "module"});
  const auto row = [&](const Change& s, const std::string& steps) {
    table.add({ms_text(s.before_ms), ms_text(s.after_ms), fmt::format("{:.3f}", s.ratio),
               fmt::format("{:.3f} to {:.3f}", s.ci95.low, s.ci95.high), steps, s.slower ? "SLOWER" : "",
               shorten(s.name, o.width - 62)});
  };
  row(c.total, "");
  for (const Change* s : changes)
    row(*s, s->steps_before == s->steps_after ? std::to_string(s->steps_before)
                                              : fmt::format("{} -> {}", s->steps_before, s->steps_after));
  text += "\n" + table.str();
  if (c.steps.size() > changes.size())
    text += fmt::format("{} more changed less{}\n", c.steps.size() - changes.size(), o.show_all);
  text += fmt::format("not matched: {} of the time before, {} after\n", percent(c.unmatched_before),
                      percent(c.unmatched_after));
  if (!c.interleaved)
    text += "the two were measured apart: only differences that noise hardly explains count as slower\n";
  const auto alarms = std::count_if(c.steps.begin(), c.steps.end(), [](const Change& s) { return s.slower; });
  if (!c.slower())
    return text + fmt::format("nothing is slower than {:.2f} times with significance\n", c.max_slowdown);
  return text + fmt::format("SLOWER than {:.2f} times: {}{}{}{}\n", c.max_slowdown,
                            c.total.slower ? "the total" : "", c.total.slower && alarms > 0 ? " and " : "",
                            alarms > 0 ? counted(alarms, "step") : "",
                            c.rounds > 1 ? fmt::format(", in each of {} measurements", c.rounds) : "");
}

}  // namespace tenon
