// Matching of steps and verdicts on their times.
#include "report/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "ir/bind.h"

namespace tenon {
namespace {

/// Sets of steps, joined when they share a module.
class Sets {
 public:
  explicit Sets(std::size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  std::size_t find(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(std::size_t a, std::size_t b) {
    parent_[std::max(find(a), find(b))] = std::min(find(a), find(b));
  }

 private:
  std::vector<std::size_t> parent_;
};

std::string name_of(const Recording::Step& step) { return step.module.empty() ? step.op : step.module; }

// Of all the names, the longest says the most.
std::string name_of(const StepMatch& m, std::span<const Recording::Step> before,
                    std::span<const Recording::Step> after) {
  std::string name;
  const auto offer = [&](const Recording::Step& step) {
    if (name_of(step).size() > name.size()) name = name_of(step);
  };
  for (const std::size_t i : m.before) offer(before[i]);
  for (const std::size_t i : m.after) offer(after[i]);
  return name;
}

bool same_ops(const StepMatch& m, std::span<const Recording::Step> before,
              std::span<const Recording::Step> after) {
  return std::equal(m.before.begin(), m.before.end(), m.after.begin(), m.after.end(),
                    [&](std::size_t b, std::size_t a) {
                      return before[b].op == after[a].op && before[b].module == after[a].module;
                    });
}

std::vector<double> sums(const RunSamples& samples, std::span<const std::size_t> steps) {
  std::vector<double> sum(samples.total_ms.size(), 0);
  for (const std::size_t s : steps)
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += samples.step_ms[s][i];
  return sum;
}

struct Question {
  Change change;
  std::vector<double> before, after;
};

std::vector<double> log_ratios(const Question& q) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < std::min(q.before.size(), q.after.size()); ++i)
    if (q.before[i] > 0 && q.after[i] > 0) logs.push_back(std::log(q.after[i] / q.before[i]));
  return logs;
}

void judge_paired(Question& q, double limit) {
  std::vector<double> logs = log_ratios(q);
  if (logs.empty()) return;
  q.change.ratio = std::exp(median(logs));
  const Interval ci = median_interval(logs);
  q.change.ci95 = {std::exp(ci.low), std::exp(ci.high)};
  for (double& l : logs) l -= std::log(limit);
  q.change.p = signed_rank_p(logs);
}

void judge_stored(Question& q, double limit) {
  const double before = median(q.before), after = median(q.after);
  if (before <= 0 || after <= 0) return;
  q.change.ratio = after / before;
  const Interval b = median_interval(q.before), a = median_interval(q.after);
  q.change.ci95 = {a.low / b.high, a.high / b.low};
  std::vector<double> allowed = q.before;
  for (double& ms : allowed) ms *= limit;
  const double fastest_before = *std::min_element(q.before.begin(), q.before.end());
  const double fastest_after = *std::min_element(q.after.begin(), q.after.end());
  const bool apart = median_interval(q.after, 0.99).low > limit * median_interval(q.before, 0.99).high;
  q.change.p = apart && fastest_after > limit * fastest_before ? rank_sum_p(allowed, q.after) : 1;
}

Comparison compare(const Recording& before, const Recording& after, const CompareOptions& options,
                   void (*judge)(Question&, double limit)) {
  Comparison result{.before = before.label,
                    .after = after.label,
                    .inputs_before = before.inputs,
                    .inputs_after = after.inputs,
                    .max_slowdown = options.max_slowdown};
  std::vector<Question> questions;
  const auto ask = [&](std::string name, std::vector<double> b, std::vector<double> a) -> Change& {
    Question q{{.name = std::move(name), .before_ms = median(b), .after_ms = median(a)}, b, a};
    judge(q, options.max_slowdown);
    return questions.emplace_back(std::move(q)).change;
  };
  ask("total", before.samples.total_ms, after.samples.total_ms);
  double all_before = 0, all_after = 0;
  for (const StepMatch& m : match_steps(before.steps, after.steps)) {
    const std::vector<double> b = sums(before.samples, m.before), a = sums(after.samples, m.after);
    all_before += median(b);
    all_after += median(a);
    if (m.before.empty()) {
      result.unmatched_after += median(a);
    } else if (m.after.empty()) {
      result.unmatched_before += median(b);
    } else {
      Change& c = ask(m.name, b, a);
      c.steps_before = m.before.size();
      c.steps_after = m.after.size();
    }
  }
  result.unmatched_before /= std::max(all_before, 1e-9);
  result.unmatched_after /= std::max(all_after, 1e-9);

  std::vector<double> p;
  for (const Question& q : questions) p.push_back(q.change.p);
  p = holm(p);
  const double least = std::max(options.least_ms, options.least_share * questions[0].change.before_ms);
  for (std::size_t i = 0; i < questions.size(); ++i) {
    Change& c = questions[i].change;
    c.p = p[i];
    c.slower =
        c.p < options.significance && c.ratio > options.max_slowdown && c.after_ms - c.before_ms > least;
  }
  result.total = questions[0].change;
  for (std::size_t i = 1; i < questions.size(); ++i) result.steps.push_back(questions[i].change);
  return result;
}

}  // namespace

bool Comparison::slower() const {
  return total.slower || std::any_of(steps.begin(), steps.end(), [](const Change& c) { return c.slower; });
}

std::string machine_name(const std::string& cpu, const std::string& isa) {
  return isa.empty() ? cpu : cpu + " (" + isa + ")";
}

MeasuredInputs measured(MeasuredInputs types, const Bindings& sizes) {
  for (MeasuredInput& input : types) {
    Type type = Type::parse(input.type);
    for (Dim& d : type.shape) d = tenon::bind(d, sizes);
    input.type = type.str();
  }
  return types;
}

MeasuredInputs measured(const Graph& graph, std::span<const Tensor> inputs) {
  MeasuredInputs types;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    types.push_back({graph.body().parameter(i)->name(), inputs[i].type_string()});
  return types;
}

bool same_sizes(const MeasuredInputs& a, const MeasuredInputs& b) {
  const auto types = [](const MeasuredInputs& inputs) {
    std::multiset<std::string> all;
    for (const MeasuredInput& i : inputs) all.insert(i.type);
    return all;
  };
  return types(a) == types(b);
}

std::string str(const MeasuredInputs& inputs) {
  std::string text;
  for (const MeasuredInput& i : inputs)
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", i.name, i.type);
  return text;
}

Recording recording_of(std::string label, MeasuredInputs inputs, const Plan& plan, RunSamples samples) {
  Recording r{.label = std::move(label), .inputs = std::move(inputs), .samples = std::move(samples)};
  for (const auto& step : plan.steps)
    r.steps.push_back({step->info.kind == StepKind::copy ? "copy" : step->info.op,
                       step->info.source.modules_text(), step->info.source.modules});
  return r;
}

std::vector<StepMatch> match_steps(std::span<const Recording::Step> before,
                                   std::span<const Recording::Step> after) {
  Sets sets(before.size() + after.size());
  std::map<std::string, std::size_t> owner;  // of each module: the first step with it
  const auto enter = [&](const Recording::Step& step, std::size_t number) {
    for (const std::string& module : step.modules) {
      const auto [it, first] = owner.emplace(module, number);
      if (!first) sets.join(it->second, number);
    }
    if (step.modules.empty()) {  // no module: steps with the same operators
      const auto [it, first] = owner.emplace("\n" + step.op, number);
      if (!first) sets.join(it->second, number);
    }
  };
  for (std::size_t i = 0; i < before.size(); ++i) enter(before[i], i);
  for (std::size_t i = 0; i < after.size(); ++i) enter(after[i], before.size() + i);

  std::map<std::size_t, StepMatch> found;  // by the first step of the set
  for (std::size_t i = 0; i < before.size(); ++i) found[sets.find(i)].before.push_back(i);
  for (std::size_t i = 0; i < after.size(); ++i) found[sets.find(before.size() + i)].after.push_back(i);
  std::vector<StepMatch> matches;
  for (auto& [first, m] : found) {
    if (!m.before.empty() && same_ops(m, before, after)) {
      for (std::size_t i = 0; i < m.before.size(); ++i)
        matches.push_back({name_of(before[m.before[i]]), {m.before[i]}, {m.after[i]}});
      continue;
    }
    m.name = name_of(m, before, after);
    matches.push_back(std::move(m));
  }
  return matches;
}

Comparison compare_paired(const Recording& before, const Recording& after, const CompareOptions& options) {
  Comparison result = compare(before, after, options, judge_paired);
  result.interleaved = true;
  return result;
}

Comparison compare_stored(const Recording& before, const Recording& after, const CompareOptions& options) {
  return compare(before, after, options, judge_stored);
}

void confirm(Comparison& first, const Comparison& second) {
  TENON_CHECK(first.steps.size() == second.steps.size());
  first.rounds += second.rounds;
  const auto keep = [](Change& c, const Change& again) { c.slower = c.slower && again.slower; };
  keep(first.total, second.total);
  for (std::size_t i = 0; i < first.steps.size(); ++i) keep(first.steps[i], second.steps[i]);
}

}  // namespace tenon
