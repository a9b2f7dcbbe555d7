// Loops of timed runs.
#include "runtime/profile.h"

#include <algorithm>
#include <cmath>

#include "runtime/pulse.h"

namespace tenon {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void add(RunSamples& samples, double total, std::span<const double> steps) {
  samples.total_ms.push_back(total);
  samples.step_ms.resize(steps.size());
  for (std::size_t s = 0; s < steps.size(); ++s) samples.step_ms[s].push_back(steps[s]);
}

/// One side's memory and how it takes a turn.
class Player {
 public:
  Player(const Contender& c, const InterleaveOptions& options)
      : contender_(c), outputs_(c.session.run(c.inputs)) {
    std::vector<double> warm;
    for (int i = 0; i < std::max(options.warmup, 1); ++i) {
      const auto begin = Clock::now();
      c.session.run_into(c.inputs, outputs_);
      warm.push_back(ms_since(begin));
    }
    const double once = *std::min_element(warm.begin(), warm.end());
    repeats_ = std::clamp(static_cast<int>(std::ceil(options.turn_ms / std::max(once, 1e-4))), 1, 10000);
  }

  /// Medians over its runs: of the steps, then of the whole.
  std::vector<double> turn() {
    std::vector<std::vector<double>> times;
    for (int i = 0; i < repeats_; ++i) {
      contender_.session.profile_run(contender_.inputs, outputs_, run_);
      times.resize(run_.steps.size() + 1);
      for (std::size_t s = 0; s < run_.steps.size(); ++s) times[s].push_back(run_.steps[s].ms());
      times.back().push_back(run_.ms());
    }
    std::vector<double> medians;
    for (const auto& t : times) medians.push_back(median(t));
    return medians;
  }

 private:
  Contender contender_;
  std::vector<Tensor> outputs_;
  RunTimes run_;
  int repeats_ = 1;
};

/// Says of pairs of runs whether the machine was calm before and after them.
class Watch {
 public:
  explicit Watch(const Session& session)
      : pulse_(session.device(), session.threads()), before_(pulse_.beat()) {}

  void pair_ended() {
    const double now = pulse_.beat();
    slowest_.push_back(std::max(before_, now));
    before_ = now;
  }
  int calm_pairs() const {
    return static_cast<int>(std::ranges::count_if(slowest_, [&](double ms) { return pulse_.is_calm(ms); }));
  }
  /// The calm ones; where there are none, the two that were nearest to it.
  std::vector<bool> kept() const {
    std::vector<double> sorted = slowest_;
    std::ranges::nth_element(sorted, sorted.begin() + 1);
    std::vector<bool> kept;
    const bool any = calm_pairs() > 0;
    for (const double ms : slowest_) kept.push_back(any ? pulse_.is_calm(ms) : ms <= sorted[1]);
    return kept;
  }

 private:
  Pulse pulse_;
  double before_;
  std::vector<double> slowest_;  // of the beats around each pair, in milliseconds
};

template <class T>
void keep(std::vector<T>& list, const std::vector<bool>& kept) {
  std::size_t next = 0;
  std::erase_if(list, [&](const T&) { return !kept[next++]; });
}

}  // namespace

Profile profile(Session& session, std::span<const Tensor> inputs, const ProfileOptions& options) {
  Profile result;
  const double packed_before = session.packing_ms();
  auto begin = Clock::now();
  result.plan = session.plan_for(inputs);
  result.plan_ms = ms_since(begin);
  result.pack_ms = session.packing_ms() - packed_before;
  result.plan_ms -= result.pack_ms;
  begin = Clock::now();
  std::vector<Tensor> outputs = session.run(inputs);
  result.first_run_ms = ms_since(begin);
  for (int i = 0; i < options.warmup; ++i) session.run_into(inputs, outputs);

  const auto plain = [&] {
    const auto start = Clock::now();
    session.run_into(inputs, outputs);
    result.latency_ms.push_back(ms_since(start));
  };
  std::vector<double> overheads;
  const auto timed = [&] {
    const auto start = Clock::now();
    session.profile_run(inputs, outputs, result.runs.emplace_back());
    return ms_since(start);
  };
  const auto pair = [&](int i) {
    if (i % 2 == 0) plain();
    const double with = timed();
    if (i % 2 == 1) plain();
    overheads.push_back(with / result.latency_ms.back() - 1);
  };
  begin = Clock::now();
  if (options.undisturbed > 0) {
    Watch watch(session);
    for (int i = 0;
         i < 2 || (watch.calm_pairs() < options.iterations && ms_since(begin) < 1000 * options.undisturbed &&
                   result.runs.size() < Profile::max_step_runs);
         ++i) {
      session.run_into(inputs, outputs);  // the pulse left its own data in the caches
      pair(i);
      watch.pair_ended();
    }
    const std::vector<bool> kept = watch.kept();
    keep(result.runs, kept);
    keep(result.latency_ms, kept);
    keep(overheads, kept);
    result.calm = {static_cast<std::size_t>(watch.calm_pairs()), kept.size() - overheads.size()};
  } else {
    const auto more = [&](int done) {
      return options.seconds > 0 ? done < 2 || ms_since(begin) < options.seconds * 1000
                                 : done < options.iterations;
    };
    for (int i = 0; more(i); ++i) {
      if (result.runs.size() == Profile::max_step_runs)
        plain();
      else
        pair(i);
    }
  }
  result.overhead = median(overheads);
  result.overhead_ci95 = median_interval(overheads);
  return result;
}

RunSamples samples_of(std::span<const RunTimes> runs) {
  RunSamples samples;
  for (const RunTimes& run : runs) {
    std::vector<double> steps;
    for (const StepTime& t : run.steps) steps.push_back(t.ms());
    add(samples, run.ms(), steps);
  }
  return samples;
}

std::array<RunSamples, 2> interleave(const Contender& a, const Contender& b,
                                     const InterleaveOptions& options) {
  std::array players{Player(a, options), Player(b, options)};
  std::array<RunSamples, 2> samples;
  for (int block = 0; block < options.blocks; ++block) {
    const std::size_t first = block % 2 == 0 ? 0 : 1;
    std::array<std::vector<double>, 2> sums;
    for (const std::size_t side : {first, 1 - first, 1 - first, first}) {
      const std::vector<double> turn = players[side].turn();
      sums[side].resize(turn.size());
      for (std::size_t i = 0; i < turn.size(); ++i) sums[side][i] += turn[i] / 2;
    }
    for (const std::size_t side : {0, 1}) {
      const std::span<const double> means = sums[side];
      add(samples[side], means.back(), means.first(means.size() - 1));
    }
  }
  return samples;
}

}  // namespace tenon
