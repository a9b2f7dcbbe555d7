#include "runtime/tuning/search.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "runtime/compare.h"
#include "runtime/tuning/group_places.h"
#include "runtime/tuning/stages.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

// Estimates are that wrong at most: what is farther off is not worth a run.
constexpr double worst_estimate = 4;
// Of the time of a run: groups with less gain nothing that could be measured.
constexpr double least_share = 0.002;
// Blocks of a round, and of what decides.
constexpr int fewest_blocks = 3, enough_blocks = 6;
// Places of a key in one run, for each candidate that is tried there.
constexpr std::size_t places_of_candidate = 4;

using Places = std::map<std::string, std::vector<GroupPlace>>;

// Of one round: what is tried for which key.
using Round = std::map<std::string, std::vector<std::string>>;

// Groups of a key take its candidates by turns.
Chooser chooser_of(const Round& round) {
  return [round, seen = std::make_shared<std::map<std::string, std::size_t>>()](
             const Group& group, std::span<const CandidateInfo> candidates) {
    const auto names = round.find(choice_key(group));
    if (names == round.end()) return least_estimate(group, candidates);
    const std::string& name = names->second[(*seen)[names->first]++ % names->second.size()];
    const auto decision = candidate_named(candidates, name);
    return decision ? *decision : least_estimate(group, candidates);
  };
}

class Search {
 public:
  Search(const std::shared_ptr<const Graph>& graph, std::span<const Tensor> inputs, const Device& device,
         int threads, Tuning& tuning, const TuneOptions& options)
      : inputs_(inputs),
        device_(device),
        threads_(threads),
        tuning_(tuning),
        options_(options),
        untuned_(graph, {.threads = threads, .device = &device}) {}

  TuneReport run() {
    options_.progress("planning");
    find_choices();
    const auto begin = Clock::now();
    const auto after = [&](double share) {
      return begin + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(options_.seconds * share));
    };
    const auto end = after(0.7);
    for (int number = 1;; ++number) {
      const Round round = next_round();
      const auto fits = [&] {
        return Clock::now() < end &&
               seconds_until(after(1)) >= least_seconds(fewest_blocks) + closing_seconds(round);
      };
      if (round.empty() || (number > 1 && !fits())) break;
      options_.progress(fmt::format("round {}, {:.0f} s left", number, seconds_until(after(1))));
      measure(round, seconds_until(end) / static_cast<double>(rounds_left()), fewest_blocks);
      keep_unconfirmed();
    }
    for (const OpenKey& open : open_)
      ++(open.stage == OpenKey::Stage::done ? report_.measured : report_.left);
    options_.progress("confirming");
    confirm(after(0.85));
    options_.progress("comparing");
    settle(after(1));
    options_.keep(found());
    return std::move(report_);
  }

 private:
  static double seconds_until(Clock::time_point end) {
    return std::max(0.0, std::chrono::duration<double>(end - Clock::now()).count());
  }

  // What a comparison takes at least, were its session and its runs like those of the last one.
  double least_seconds(int blocks) const { return session_seconds_ + blocks * block_seconds_; }

  // What follows a round if it is the last: what was found until then is confirmed, and a whole run compared.
  double closing_seconds(Round found) const {
    for (const OpenKey& open : open_)
      if (const TunedGroup& group = report_.groups[open.group]; open.best.candidate != group.incumbent)
        found[group.key] = {open.best.candidate};
    return least_seconds(blocks_to_confirm(found)) + least_seconds(enough_blocks);
  }

  // Of a run of the least estimates, the share that each key has.
  std::map<std::string, double> shares() {
    std::map<std::string, double> shares;
    std::vector<Tensor> outputs = untuned_.run(inputs_);
    RunTimes times;
    untuned_.run_into(inputs_, outputs);
    untuned_.profile_run(inputs_, outputs, times);
    block_seconds_ = 4e-3 * std::max(InterleaveOptions().turn_ms, times.ms());
    for (const auto& [key, places] : base_places_)
      for (const GroupPlace& place : places)
        for (std::size_t s = place.first_step; s < place.first_step + place.steps; ++s)
          shares[key] += times.steps[s].ms() / times.ms();
    return shares;
  }

  void find_choices() {
    plan_ = untuned_.plan_with_stages(inputs_);
    base_places_ = places_of(*plan_);
    const std::map<std::string, double> share = shares();
    std::map<std::string, std::size_t> known;
    for (const Choice* choice : choices_of(*plan_)) {
      const auto [at, is_new] = known.emplace(choice->key, report_.groups.size());
      if (!is_new) {
        if (at->second < report_.groups.size()) ++report_.groups[at->second].groups;
        continue;
      }
      at->second = std::size_t(-1);
      if (!base_places_.contains(choice->key)) continue;
      const CandidateInfo& incumbent = choice->candidates[choice->taken];
      OpenKey open{.candidates = {incumbent}, .is_worth_it = share.at(choice->key) >= least_share};
      const auto add = [&](const CandidateInfo& c) {
        if (c.seconds <= worst_estimate * incumbent.seconds) open.candidates.push_back(c);
      };
      for (std::size_t i = 0; i < choice->candidates.size(); ++i)
        if (i != choice->taken && choice->candidates[i].kernel != "reference") add(choice->candidates[i]);
      if (open.is_worth_it) std::ranges::for_each(choice->splits, add);
      const bool has_settings = open.is_worth_it && !settings_of(incumbent, threads_).empty();
      if (open.candidates.size() == 1 && !has_settings) continue;
      at->second = report_.groups.size();
      open.group = at->second;
      const std::string taken = candidate_name(incumbent);
      report_.groups.push_back({.key = choice->key,
                                .group = choice->group,
                                .source = choice->source,
                                .groups = 1,
                                .incumbent = taken,
                                .incumbent_estimated_ms = 1e3 * incumbent.seconds,
                                .taken = taken});
      begin_with_what_is_known(std::move(open), *choice);
    }
  }

  void begin_with_what_is_known(OpenKey open, const Choice& choice) {
    TunedGroup& group = report_.groups[open.group];
    open.best = {.group = group.group, .candidate = group.incumbent};
    const TunedChoice* tuned = tuning_.find(group.key);
    const auto is_there = [&](const std::string& name) {
      return candidate_named(choice.candidates, name) || candidate_named(choice.splits, name);
    };
    open.confirmed = tuned && is_there(tuned->candidate) ? *tuned : open.best;
    if (tuned && !options_.again && is_there(tuned->candidate)) {
      open.best = *tuned;
      open.tried = {tuned->tried.begin(), tuned->tried.end()};
      group.taken = tuned->candidate;
    }
    open.begin(OpenKey::Stage::kernels, group.tried, threads_);
    if (open.stage == OpenKey::Stage::done)
      ++report_.known;
    else
      open_.push_back(std::move(open));
  }

  // What each key tries next. Of keys that one step computes, one is measured at a time.
  Round next_round() const {
    Round round;
    std::set<std::size_t> claimed;
    for (const OpenKey& open : open_) {
      if (open.left.empty()) continue;
      const std::string& key = report_.groups[open.group].key;
      if (!claim(key, claimed)) continue;
      const std::vector<GroupPlace>& places = base_places_.at(key);
      const bool is_shared = std::ranges::any_of(places, &GroupPlace::is_shared);
      const std::size_t fit = is_shared ? 1 : std::max<std::size_t>(1, places.size() / places_of_candidate);
      const auto count = static_cast<std::ptrdiff_t>(std::min(fit, open.left.size()));
      round[key].assign(open.left.begin(), open.left.begin() + count);
    }
    return round;
  }

  bool claim(const std::string& key, std::set<std::size_t>& claimed) const {
    const auto& places = base_places_.at(key);
    const auto is_claimed = [&](const GroupPlace& p) { return claimed.contains(p.first_step); };
    if (std::ranges::any_of(places, is_claimed)) return false;
    for (const GroupPlace& p : places) claimed.insert(p.first_step);
    return true;
  }

  // As far as is known: a stage may bring others. Keys of one step take turns.
  std::size_t rounds_left() const {
    std::size_t most = 1, shared = 0;
    for (const OpenKey& open : open_) {
      const std::size_t rounds = open.left.size() + open.later(threads_);
      const auto& places = base_places_.at(report_.groups[open.group].key);
      if (std::ranges::any_of(places, &GroupPlace::is_shared))
        shared += rounds;
      else
        most = std::max(most, rounds / std::max<std::size_t>(1, places.size() / places_of_candidate));
    }
    return std::max(most, shared);
  }

  struct Times {
    std::vector<double> before, after, difference;
  };

  // A run with the round's candidates beside one of the least estimates: the times of each candidate.
  std::map<std::pair<std::string, std::string>, Times> times_of(const Round& round, double seconds,
                                                                int blocks) {
    const auto start = Clock::now();
    Session session(untuned_, chooser_of(round));
    const auto plan = session.plan_with_stages(inputs_);
    const Places places = places_of(*plan);
    const auto begin = Clock::now();
    session_seconds_ = std::chrono::duration<double>(begin - start).count();
    const auto [base, tried] =
        interleave({untuned_, inputs_}, {session, inputs_}, blocks_of(seconds, blocks));
    block_seconds_ = std::chrono::duration<double>(Clock::now() - begin).count() /
                     static_cast<double>(base.total_ms.size());
    options_.record(*plan_, base);
    options_.record(*plan, tried);
    std::map<std::pair<std::string, std::string>, Times> all;
    for (const auto& [key, names] : round) {
      const std::vector<GroupPlace>& before = base_places_.at(key);
      const auto there = places.find(key);
      if (there == places.end() || there->second.size() != before.size()) continue;
      const std::vector<GroupPlace>& after = there->second;
      for (std::size_t block = 0; block < base.total_ms.size(); ++block)
        for (std::size_t i = 0; i < before.size(); ++i) {
          Times& t = all[{key, after[i].candidate}];
          t.before.push_back(time_of(before[i], base, block));
          t.after.push_back(time_of(after[i], tried, block));
          t.difference.push_back(t.after.back() - t.before.back());
        }
    }
    return all;
  }

  static double time_of(const GroupPlace& place, const RunSamples& samples, std::size_t block) {
    double ms = 0;
    for (std::size_t s = place.first_step; s < place.first_step + place.steps; ++s)
      ms += samples.step_ms[s][block];
    return ms;
  }

  void measure(const Round& round, double seconds, int blocks) {
    const auto times = times_of(round, seconds, blocks);
    for (OpenKey& open : open_) {
      TunedGroup& group = report_.groups[open.group];
      const auto names = round.find(group.key);
      if (names == round.end()) continue;
      for (const std::string& name : names->second) {
        open.left.pop_front();
        open.tried.insert(name);
        const auto found = times.find({group.key, name});
        if (found == times.end()) continue;
        const Times& t = found->second;
        TunedGroup::Tried& tried = group.tried.emplace_back();
        tried = {.candidate = name,
                 .ms = median(t.after),
                 .incumbent_ms = median(t.before),
                 .difference = median_interval(t.difference)};
        if (const auto d = candidate_named(open.candidates, name); d && d->schedule == Schedule{})
          tried.estimated_ms = 1e3 * open.candidates[d->candidate].seconds;
        if (open.best.incumbent_ms == 0) open.best.ms = open.best.incumbent_ms = tried.incumbent_ms;
        if (tried.difference.high < 0 &&
            tried.ms / tried.incumbent_ms < open.best.ms / open.best.incumbent_ms)
          put(open, name, tried.ms, tried.incumbent_ms);
      }
      if (open.left.empty()) open.begin_next(group.tried, threads_);
    }
  }

  // For a search that is interrupted: what the next one need not try again.
  void keep_unconfirmed() {
    for (const OpenKey& open : open_) {
      if (open.tried.empty()) continue;
      TunedChoice choice = open.confirmed;
      if (choice.incumbent_ms == 0) choice.ms = choice.incumbent_ms = open.best.incumbent_ms;
      std::set<std::string> tried = open.tried;
      if (open.best.candidate != choice.candidate) tried.erase(open.best.candidate);
      choice.tried = {tried.begin(), tried.end()};
      tuning_.put(report_.groups[open.group].key, choice);
    }
    options_.keep(found());
  }

  // Of the graph's groups alone: `tuning_` holds those of other models, too.
  Tuning found() const {
    Tuning found(device_, threads_);
    for (const TunedGroup& group : report_.groups)
      if (const TunedChoice* choice = tuning_.find(group.key)) found.put(group.key, *choice);
    return found;
  }

  void put(OpenKey& open, const std::string& candidate, double ms, double incumbent_ms) {
    open.best.candidate = candidate;
    open.best.ms = ms;
    open.best.incumbent_ms = incumbent_ms;
  }

  InterleaveOptions blocks_of(double seconds, int fewest) const {
    return {.warmup = 2,
            .blocks = static_cast<int>(std::clamp(seconds / block_seconds_, 1.0 * fewest,
                                                  1.0 * std::max(fewest, options_.most_blocks)))};
  }

  // A block has a sample of each place.
  int blocks_to_confirm(const Round& round) const {
    std::size_t fewest = enough_blocks;
    for (const auto& [key, names] : round) fewest = std::min(fewest, base_places_.at(key).size());
    const auto places = static_cast<int>(std::max<std::size_t>(1, fewest));
    return std::max(2, (enough_blocks + places - 1) / places);
  }

  // The fastest of many is fast by chance, too: each is measured once more, beside nothing but the incumbent.
  void confirm(Clock::time_point end) {
    std::vector<OpenKey*> rest;
    for (OpenKey& open : open_)
      if (open.best.candidate != report_.groups[open.group].incumbent) rest.push_back(&open);
    while (!rest.empty()) {
      Round round;
      std::set<std::size_t> claimed;
      std::vector<OpenKey*> later;
      for (OpenKey* open : rest) {
        const std::string& key = report_.groups[open->group].key;
        if (claim(key, claimed))
          round[key] = {open->best.candidate};
        else
          later.push_back(open);
      }
      const auto times = times_of(round, seconds_until(end), blocks_to_confirm(round));
      for (OpenKey* open : rest) {
        const TunedGroup& group = report_.groups[open->group];
        if (!round.contains(group.key)) continue;
        const auto found = times.find({group.key, open->best.candidate});
        const bool is_faster = found != times.end() && median_interval(found->second.difference).high < 0;
        const double before = found == times.end() ? open->best.incumbent_ms : median(found->second.before);
        put(*open, is_faster ? open->best.candidate : group.incumbent,
            is_faster ? median(found->second.after) : before, before);
      }
      rest = std::move(later);
    }
    for (OpenKey& open : open_) {
      TunedGroup& group = report_.groups[open.group];
      if (open.tried.empty()) continue;
      open.best.tried = {open.tried.begin(), open.tried.end()};
      group.taken = open.best.candidate;
      tuning_.put(group.key, open.best);
    }
  }

  static bool changes_order(const TunedGroup& group) {
    const auto order = [](const std::string& candidate) {
      const auto at = candidate.find(" order ");
      return at == std::string::npos ? std::string() : candidate.substr(at, candidate.find(" weights ") - at);
    };
    return !order(group.taken).empty() && order(group.taken) != order(group.incumbent);
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
  void settle(Clock::time_point end) {
    if (!changes_anything() || holds()) return;
    if (std::none_of(report_.groups.begin(), report_.groups.end(), is_new)) return;  // what was known stays
    if (seconds_until(end) >= least_seconds(enough_blocks) &&
        std::any_of(report_.groups.begin(), report_.groups.end(),
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
    Session tuned(untuned_, tuning_.chooser());
    const std::vector<Tensor> expected = untuned_.run(inputs_), outputs = tuned.run(inputs_);
    agrees_ = options_.agrees(outputs, expected);
    report_.difference = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      report_.difference = std::max(report_.difference, compare(outputs[i], expected[i]).relative());
    const auto [before, after] =
        interleave({untuned_, inputs_}, {tuned, inputs_}, blocks_of(0.15 * options_.seconds, enough_blocks));
    std::vector<double> ratios;
    for (std::size_t i = 0; i < before.total_ms.size(); ++i)
      ratios.push_back(after.total_ms[i] / before.total_ms[i]);
    report_.before_ms = median(before.total_ms);
    report_.after_ms = median(after.total_ms);
    report_.ratio = median_interval(ratios);
    return agrees_ && median(ratios) < 1;
  }

  std::span<const Tensor> inputs_;
  const Device& device_;
  int threads_;
  Tuning& tuning_;
  const TuneOptions& options_;
  Session untuned_;
  std::shared_ptr<const Plan> plan_;
  Places base_places_;
  std::vector<OpenKey> open_;
  double session_seconds_ = 0;  // to make the session of the last round: planning, packing weights
  double block_seconds_ = 0;    // of a block of it, with its share of warming up
  bool agrees_ = true;          // the last comparison
  TuneReport report_;
};

}  // namespace

TuneReport tune(const std::shared_ptr<const Graph>& graph, std::span<const Tensor> inputs,
                const Device& device, int threads, Tuning& tuning, const TuneOptions& options) {
  return Search(graph, inputs, device, threads, tuning, options).run();
}

}  // namespace tenon
