#include "runtime/tuning/search.h"

#include <algorithm>
#include <chrono>

#include "runtime/compare.h"
#include "runtime/profile.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

// Estimates are that wrong at most: what is farther off is not worth a run.
constexpr double worst_estimate = 4;
constexpr int fewest_blocks = 6, most_blocks = 30;

// The candidates of one key that are left to try.
struct Open {
  std::size_t group;  // of the report
  std::vector<std::string> candidates;
};

class Search {
 public:
  Search(const std::shared_ptr<const Graph>& graph, std::span<const Tensor> inputs, const Device& device,
         int threads, Tuning& tuning, const TuneOptions& options)
      : graph_(graph),
        inputs_(inputs),
        device_(device),
        threads_(threads),
        tuning_(tuning),
        options_(options),
        untuned_(graph, {.threads = threads, .device = &device}) {}

  TuneReport run() {
    options_.progress("planning");
    find_choices();
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(options_.seconds * 0.8));
    std::size_t round = 0;
    const std::size_t rounds = most_candidates();
    while (round < rounds && (round == 0 || Clock::now() < end)) {
      options_.progress(fmt::format("round {} of {}", round + 1, rounds));
      measure(round, seconds_until(end) / static_cast<double>(rounds - round));
      ++round;
    }
    for (const Open& open : open_) ++(open.candidates.size() > round ? report_.left : report_.measured);
    decide(round);
    options_.progress("comparing");
    settle();
    return std::move(report_);
  }

 private:
  static double seconds_until(Clock::time_point end) {
    return std::max(0.0, std::chrono::duration<double>(end - Clock::now()).count());
  }

  std::size_t most_candidates() const {
    std::size_t most = 0;
    for (const Open& open : open_) most = std::max(most, open.candidates.size());
    return most;
  }

  void find_choices() {
    plan_ = untuned_.plan_for(inputs_);
    std::map<std::string, std::size_t> known;
    for (const Choice& choice : plan_->choices) {
      const double least = choice.candidates[choice.taken].seconds;
      std::vector<std::string> others, all;
      for (std::size_t i = 0; i < choice.candidates.size(); ++i) {
        const CandidateInfo& c = choice.candidates[i];
        all.push_back(candidate_name(c));
        if (i != choice.taken && c.kernel != "reference" && c.seconds <= worst_estimate * least)
          others.push_back(candidate_name(c));
      }
      if (others.empty()) continue;
      const auto [at, is_new] = known.emplace(choice.key, report_.groups.size());
      if (!is_new) {
        ++report_.groups[at->second].groups;
        continue;
      }
      const std::string taken = candidate_name(choice.candidates[choice.taken]);
      report_.groups.push_back({.key = choice.key,
                                .group = choice.group,
                                .source = choice.source,
                                .groups = 1,
                                .incumbent = taken,
                                .taken = taken});
      const TunedChoice* tuned = tuning_.find(choice.key);
      const bool is_there = tuned && std::find(all.begin(), all.end(), tuned->candidate) != all.end();
      if (is_there && !options_.again) {
        report_.groups.back().taken = tuned->candidate;
        ++report_.known;
      } else {
        open_.push_back({at->second, std::move(others)});
      }
    }
  }

  // Each key's candidate of this round, beside a run of the least estimates.
  void measure(std::size_t round, double seconds) {
    Tuning trial(device_, threads_);
    for (const Open& open : open_)
      if (round < open.candidates.size())
        trial.put(report_.groups[open.group].key, {.candidate = open.candidates[round]});
    Session session(graph_, {.threads = threads_, .device = &device_, .choose = trial.chooser()});
    const auto plan = session.plan_for(inputs_);
    const auto [base, tried] = interleave({untuned_, inputs_}, {session, inputs_}, blocks_of(seconds));
    for (const Open& open : open_) {
      if (round >= open.candidates.size()) continue;
      TunedGroup& group = report_.groups[open.group];
      const std::vector<double> before = times_of(*plan_, base, group.key);
      const std::vector<double> after = times_of(*plan, tried, group.key);
      std::vector<double> difference;
      for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i)
        difference.push_back(after[i] - before[i]);
      group.tried.push_back({.candidate = open.candidates[round],
                             .ms = median(after),
                             .incumbent_ms = median(before),
                             .difference = median_interval(difference)});
    }
  }

  InterleaveOptions blocks_of(double seconds) const {
    InterleaveOptions options{.warmup = 2, .blocks = fewest_blocks};
    double run_seconds = options.turn_ms * 1e-3;
    if (last_run_ms_ > 0) run_seconds = std::max(run_seconds, last_run_ms_ * 1e-3);
    options.blocks = std::clamp(static_cast<int>(seconds / (4 * run_seconds)), fewest_blocks, most_blocks);
    return options;
  }

  // Of one group of this key, in each block.
  std::vector<double> times_of(const Plan& plan, const RunSamples& samples, const std::string& key) {
    last_run_ms_ = median(samples.total_ms);
    std::vector<double> times;
    double groups = 0;
    for (const Choice& choice : plan.choices) {
      if (choice.key != key) continue;
      ++groups;
      for (std::size_t s = choice.first_step; s < choice.first_step + choice.steps; ++s) {
        times.resize(std::max(times.size(), samples.step_ms[s].size()));
        for (std::size_t i = 0; i < samples.step_ms[s].size(); ++i) times[i] += samples.step_ms[s][i];
      }
    }
    for (double& t : times) t /= groups;
    if (times.empty()) times.push_back(0);
    return times;
  }

  void decide(std::size_t round) {
    for (const Open& open : open_) {
      TunedGroup& group = report_.groups[open.group];
      if (group.tried.empty() || open.candidates.size() > round) continue;
      TunedChoice choice{.group = group.group,
                         .candidate = group.incumbent,
                         .ms = group.tried.front().incumbent_ms,
                         .incumbent_ms = group.tried.front().incumbent_ms};
      for (const TunedGroup::Tried& t : group.tried)
        if (t.difference.high < 0 && t.ms - t.incumbent_ms < choice.ms - choice.incumbent_ms) {
          choice.candidate = t.candidate;
          choice.ms = t.ms;
          choice.incumbent_ms = t.incumbent_ms;
        }
      group.taken = choice.candidate;
      tuning_.put(group.key, choice);
    }
  }

  static bool changes_order(const TunedGroup& group) {
    const auto order = [](const std::string& candidate) {
      const auto at = candidate.find(" order ");
      return at == std::string::npos ? std::string() : candidate.substr(at, candidate.find(" weights ") - at);
    };
    return order(group.taken) != order(group.incumbent);
  }

  void revert(const std::function<bool(const TunedGroup&)>& which) {
    for (TunedGroup& group : report_.groups) {
      if (!is_new(group) || !which(group)) continue;
      group.taken = group.incumbent;
      TunedChoice choice = *tuning_.find(group.key);
      choice.candidate = group.incumbent;
      choice.ms = choice.incumbent_ms;
      tuning_.put(group.key, choice);
    }
  }

  bool changes_anything() const {
    return std::any_of(report_.groups.begin(), report_.groups.end(),
                       [](const TunedGroup& g) { return g.taken != g.incumbent; });
  }

  // A whole run with what was found is to be right, and not slower than one without.
  void settle() {
    if (!changes_anything() || holds()) return;
    if (std::none_of(report_.groups.begin(), report_.groups.end(), is_new)) return;  // what was known stays
    if (std::any_of(report_.groups.begin(), report_.groups.end(),
                    [](const TunedGroup& g) { return is_new(g) && changes_order(g); })) {
      report_.reverted = reason("other orders in memory cost more around them than they bring");
      revert(changes_order);
      if (!changes_anything() || holds()) return;
    }
    report_.reverted = reason("a whole run is no faster with what was faster alone");
    revert([](const TunedGroup&) { return true; });
    if (changes_anything()) holds();
  }

  std::string reason(std::string of_times) const {
    return agrees_ ? std::move(of_times) : "the outputs of faster kernels differ";
  }

  static bool is_new(const TunedGroup& g) { return !g.tried.empty() && g.taken != g.incumbent; }

  bool holds() {
    Session tuned(graph_, {.threads = threads_, .device = &device_, .choose = tuning_.chooser()});
    const std::vector<Tensor> expected = untuned_.run(inputs_), outputs = tuned.run(inputs_);
    agrees_ = options_.agrees(outputs, expected);
    report_.difference = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      report_.difference = std::max(report_.difference, compare(outputs[i], expected[i]).relative());
    const auto [before, after] =
        interleave({untuned_, inputs_}, {tuned, inputs_}, blocks_of(0.1 * options_.seconds));
    std::vector<double> ratios;
    for (std::size_t i = 0; i < before.total_ms.size(); ++i)
      ratios.push_back(after.total_ms[i] / before.total_ms[i]);
    report_.before_ms = median(before.total_ms);
    report_.after_ms = median(after.total_ms);
    report_.ratio = median_interval(ratios);
    return agrees_ && median(ratios) < 1;
  }

  std::shared_ptr<const Graph> graph_;
  std::span<const Tensor> inputs_;
  const Device& device_;
  int threads_;
  Tuning& tuning_;
  const TuneOptions& options_;
  Session untuned_;
  std::shared_ptr<const Plan> plan_;
  std::vector<Open> open_;
  double last_run_ms_ = 0;
  bool agrees_ = true;  // the last comparison
  TuneReport report_;
};

}  // namespace

TuneReport tune(const std::shared_ptr<const Graph>& graph, std::span<const Tensor> inputs,
                const Device& device, int threads, Tuning& tuning, const TuneOptions& options) {
  return Search(graph, inputs, device, threads, tuning, options).run();
}

}  // namespace tenon
