#include "verify/rewrites.h"

#include "base/progress.h"
#include "ir/clone.h"
#include "runtime/session.h"
#include "verify/imported_values.h"
#include "verify/verdict.h"

namespace tenon {
namespace {

class RewriteTrial {
 public:
  RewriteTrial(const FusionUnderTest& fusion, const Inputs& inputs, const Tolerance& tolerance)
      : fusion_(fusion), inputs_(inputs), tolerance_(tolerance), exact_(fusion.imported, inputs) {}

  struct Outcome {
    bool wrong = false;
    Difference difference;  // the largest
    FuseReport report;
    Verdict verdict;
  };

  Outcome with(const FuseOptions& options) const {
    Outcome outcome;
    std::shared_ptr<Graph> graph = clone(fusion_.imported);
    outcome.report = fuse(*graph, options, fusion_.passes);
    const auto outputs = Session(graph, {.threads = fusion_.threads, .device = &fusion_.device}).run(inputs_);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const ExactValue& exact = exact_.outputs()[i];
      Difference d = compare(outputs[i], exact.value);
      outcome.verdict.add({.name = output_name(*graph, i), .difference = d, .ok = true});
      outcome.wrong = outcome.wrong || is_error(d, exact.rounding, tolerance_);
      if (i == 0 || d.relative() > outcome.difference.relative()) outcome.difference = std::move(d);
    }
    return outcome;
  }

  Outcome first(int rewrites) const {
    FuseOptions options = fusion_.options;
    options.stop_after = rewrites;
    return with(options);
  }

 private:
  const FusionUnderTest& fusion_;
  const Inputs& inputs_;
  const Tolerance& tolerance_;
  ImportedValues exact_;
};

WrongRewrite bisect(const FusionUnderTest& fusion, const RewriteTrial& trial, RewriteTrial::Outcome all,
                    RewriteTrial::Outcome none, Count& count) {
  WrongRewrite found{.rewrites = static_cast<int>(all.report.rewrites.size()),
                     .difference = all.difference,
                     .before = none.difference};
  int good = 0, bad = found.rewrites;
  while (bad - good > 1) {
    const int middle = (good + bad) / 2;
    count.step();
    RewriteTrial::Outcome outcome = trial.first(middle);
    (outcome.wrong ? bad : good) = middle;
    (outcome.wrong ? found.difference : found.before) = std::move(outcome.difference);
  }
  found.rewrite = all.report.rewrites[static_cast<std::size_t>(bad) - 1];
  FuseOptions off = fusion.options;
  off.off.push_back(found.rewrite.rule);
  RewriteTrial::Outcome outcome = trial.with(off);
  found.right_when_off = !outcome.wrong;
  found.off = std::move(outcome.difference);
  return found;
}

}  // namespace

std::string WrongRewrite::str() const {
  return fmt::format("rewrite {} of {} ({}/{}): {}", rewrite.number, rewrites, rewrite.pass, rewrite.rule,
                     rewrite.text);
}

RewriteSearch search_rewrites(const FusionUnderTest& fusion, const std::vector<Inputs>& samples,
                              const Tolerance& tolerance) {
  Count count("trials");
  std::string problem;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    count.step();
    const RewriteTrial trial(fusion, samples[s], tolerance);
    RewriteTrial::Outcome all = trial.with(fusion.options);
    if (!all.wrong) {
      problem = all.verdict.problem();
      continue;
    }
    RewriteTrial::Outcome none = trial.first(0);
    if (none.wrong || all.report.rewrites.empty()) return {.without_any = none.difference};
    WrongRewrite found = bisect(fusion, trial, std::move(all), std::move(none), count);
    found.sample = s;
    return {.wrong = std::move(found)};
  }
  return {.problem = problem};
}

}  // namespace tenon
