#include "check/golden_graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/count.h"
#include "ir/outline.h"

namespace tenon {
namespace {

constexpr std::size_t shown = 8;  // of each list

struct Part {
  std::string kind, module;
  std::vector<std::string> modules;

  std::string str() const { return module.empty() ? kind : kind + " at " + module; }
};

std::vector<Part> parts_of(const Graph& graph) {
  std::vector<Part> parts;
  for (const auto& n : graph.body().nodes())
    parts.push_back({kind_of(*n), n->source.modules_text(), n->source.modules});
  return parts;
}

// Those of `a` that `b` does not have, each counted once.
std::vector<Part> only_in(const std::vector<Part>& a, const std::vector<Part>& b) {
  std::map<std::pair<std::string, std::string>, int> left;
  for (const Part& p : b) ++left[{p.kind, p.module}];
  std::vector<Part> only;
  for (const Part& p : a)
    if (--left[{p.kind, p.module}] < 0) only.push_back(p);
  return only;
}

bool share_a_module(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const auto& m) { return std::find(b.begin(), b.end(), m) != b.end(); });
}

std::vector<std::string> modules_of(const RefusedMatch& refusal) {
  return Source::parse_modules(std::string_view(refusal.location).substr(0, refusal.location.find(" (")));
}

std::vector<std::string> switched_off(const FuseOptions& options) {
  std::vector<std::string> names = options.off;
  if (!options.fuse) names.insert(names.begin(), "all fusion");
  return names;
}

/// Why a fusion did not happen, as far as the report tells.
std::string reason_for(const Part& lost, const FuseReport& report, const FuseOptions& options) {
  std::vector<std::string> reasons;
  if (const auto off = switched_off(options); !off.empty())
    reasons.push_back(fmt::format("case.toml switches off {}", fmt::join(off, ", ")));
  for (const RefusedMatch& r : report.refusals) {
    if (!share_a_module(modules_of(r), lost.modules)) continue;
    std::string reason = r.rule + " refused: " + r.reason;
    if (std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
      reasons.push_back(std::move(reason));
  }
  return reasons.empty() ? "no rule refused it: no pattern matched"
                         : fmt::format("{}", fmt::join(reasons, "; "));
}

std::string counts_table(const std::map<std::string, std::pair<int, int>>& counts) {
  std::size_t width = std::string_view("operator").size();
  for (const auto& [kind, unused] : counts) width = std::max(width, kind.size());
  std::string text = fmt::format("{:<{}}  recorded  now\n", "operator", width);
  for (const auto& [kind, n] : counts)
    text += fmt::format("{:<{}}  {:>8}  {:>3}\n", kind, width, n.first, n.second);
  return text;
}

template <class List, class Line>
std::string listed(const List& list, Line line) {
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, list.size()); ++i) text += line(list[i]);
  if (list.size() > shown) text += fmt::format("and {} more\n", list.size() - shown);
  return text;
}

Failure failure_of(const std::map<std::string, std::pair<int, int>>& changed) {
  Failure f{.kind = failure::graph};
  for (const auto& [kind, n] : changed)
    f.data["operators"][kind] = {{"recorded", n.first}, {"now", n.second}};
  if (!changed.empty()) f.details = counts_table(changed);
  return f;
}

}  // namespace

std::optional<Failure> compare_graphs(const Graph& golden, const Graph& now, const FuseReport& report,
                                      const FuseOptions& options) {
  const auto before = parts_of(golden), after = parts_of(now);
  const auto gone = only_in(before, after), come = only_in(after, before);
  if (gone.empty() && come.empty()) return std::nullopt;
  std::map<std::string, std::pair<int, int>> changed;
  for (const auto& [kind, n] : count_kinds(golden)) changed[kind].first = n;
  for (const auto& [kind, n] : count_kinds(now)) changed[kind].second = n;
  std::erase_if(changed, [](const auto& entry) { return entry.second.first == entry.second.second; });
  Failure f = failure_of(changed);
  std::vector<Part> lost;
  std::copy_if(gone.begin(), gone.end(), std::back_inserter(lost),
               [](const Part& p) { return p.kind.starts_with("fused "); });
  const std::vector<Part>& named = lost.empty() ? gone : lost;
  f.details += listed(named, [&](const Part& p) {
    std::string line = fmt::format("{}: {}\n", lost.empty() ? "gone" : "lost", p.str());
    std::vector<std::string> instead;
    for (const Part& q : come)
      if (share_a_module(p.modules, q.modules)) instead.push_back(q.str());
    if (!instead.empty()) line += fmt::format("  now: {}\n", fmt::join(instead, "; "));
    const std::string reason = lost.empty() ? "" : reason_for(p, report, options);
    if (!reason.empty()) line += fmt::format("  because: {}\n", reason);
    f.data["lost"].push_back({{"kind", p.kind}, {"module", p.module}, {"now", instead}, {"reason", reason}});
    return line;
  });
  if (gone.empty()) f.details += listed(come, [](const Part& p) { return "new: " + p.str() + "\n"; });
  f.message = !lost.empty()
                  ? fmt::format("{} no longer made, the first is {}",
                                counted(lost.size(), "fused group is", "fused groups are"), lost[0].str())
                  : fmt::format("the fused graph is another one: {} gone, {} new",
                                counted(gone.size(), "node"), come.size());
  return f;
}

std::optional<Failure> compare_counts(const std::map<std::string, int>& wanted, const Graph& now,
                                      const FuseReport& report, const FuseOptions& options) {
  const auto counts = count_kinds(now);
  std::map<std::string, std::pair<int, int>> changed;
  for (const auto& [kind, n] : wanted) {
    const auto found = counts.find(kind);
    const int is = found == counts.end() ? 0 : found->second;
    if (is != n) changed[kind] = {n, is};
  }
  if (changed.empty()) return std::nullopt;
  Failure f = failure_of(changed);
  const auto& [kind, n] = *changed.begin();
  f.message = fmt::format("there are {} of {}, case.toml asks for {}", n.second, kind, n.first);
  f.details += listed(report.refusals, [](const RefusedMatch& r) {
    return fmt::format("{} refused: {}{}\n", r.rule, r.reason, r.location.empty() ? "" : " at " + r.location);
  });
  if (const auto off = switched_off(options); !off.empty())
    f.details += fmt::format("case.toml switches off {}\n", fmt::join(off, ", "));
  return f;
}

}  // namespace tenon
