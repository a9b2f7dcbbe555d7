#include "report/tuning.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/count.h"
#include "base/version.h"
#include "report/table.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const Interval& i) { return {i.low, i.high}; }

const TunedGroup::Tried* taken(const TunedGroup& group) {
  for (const TunedGroup::Tried& t : group.tried)
    if (t.candidate == group.taken) return &t;
  return nullptr;
}

// Without the form of its weights.
std::string short_name(const std::string& candidate) {
  return candidate.substr(0, candidate.find(" weights "));
}

}  // namespace

std::string text_of(const TuneReport& report) {
  std::string text;
  Table table({"group", "times", "least estimate", "ms", "measured fastest", "ms"});
  std::size_t changed = 0;
  for (const TunedGroup& g : report.groups) {
    if (g.taken == g.incumbent) continue;
    ++changed;
    const TunedGroup::Tried* t = taken(g);
    table.add({g.group, std::to_string(g.groups), short_name(g.incumbent),
               t ? fmt::format("{:.3g}", t->incumbent_ms) : "", short_name(g.taken),
               t ? fmt::format("{:.3g}", t->ms) : "known"});
  }
  if (changed > 0) text += table.str() + "\n";
  text += fmt::format("{} with a choice: {} measured, {} known, {} left\n",
                      counted(report.groups.size(), "kind of group", "kinds of groups"), report.measured,
                      report.known, report.left);
  if (report.left > 0) text += "  try: a larger --budget, or the same again: what was tried is kept\n";
  if (!report.reverted.empty()) text += fmt::format("{}: the estimates' choices stay\n", report.reverted);
  if (report.before_ms == 0) return text + "no kernel changes\n";
  text += fmt::format("a run: {:.3g} ms before, {:.3g} ms after, ratio 95 % from {:.3f} to {:.3f}\n",
                      report.before_ms, report.after_ms, report.ratio.low, report.ratio.high);
  text += fmt::format("outputs differ by up to {:.1e} of their largest value\n", report.difference);
  return text;
}

ordered_json to_json(const TuneReport& report) {
  ordered_json groups = ordered_json::array();
  for (const TunedGroup& g : report.groups) {
    ordered_json tried = ordered_json::array();
    for (const TunedGroup::Tried& t : g.tried)
      tried.push_back({{"candidate", t.candidate},
                       {"ms", t.ms},
                       {"incumbent_ms", t.incumbent_ms},
                       {"difference_ci95", to_json(t.difference)},
                       {"estimated_ms", t.estimated_ms}});
    groups.push_back({{"key", g.key},
                      {"group", g.group},
                      {"source", g.source},
                      {"groups", g.groups},
                      {"incumbent", g.incumbent},
                      {"incumbent_estimated_ms", g.incumbent_estimated_ms},
                      {"taken", g.taken},
                      {"tried", tried}});
  }
  return ordered_json{{"schema", "tenon.tune/1"},
                      {"tenon", version()},
                      {"groups", groups},
                      {"measured", report.measured},
                      {"known", report.known},
                      {"left", report.left},
                      {"reverted", report.reverted},
                      {"before_ms", report.before_ms},
                      {"after_ms", report.after_ms},
                      {"ratio_ci95", to_json(report.ratio)},
                      {"difference", report.difference}};
}

}  // namespace tenon
