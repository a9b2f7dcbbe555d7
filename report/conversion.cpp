#include "report/conversion.h"

#include <algorithm>

#include "base/count.h"
#include "report/summary.h"
#include "report/table.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;

/// The rewrites of one rule.
struct RuleUse {
  std::string rule;
  int count = 0;
  std::vector<std::string> places;  // each once
};

/// Passes under the name of what they do.
struct Chapter {
  std::string_view title, passes;  // the beginning of their names
};
constexpr Chapter chapters[] = {
    {"brought into one form", "canonicalise"}, {"folded", "fold"}, {"raised", "raise"}, {"fused", "fuse"}};

std::vector<RuleUse> uses_of(const Chapter& chapter, const FuseReport& report) {
  std::vector<RuleUse> uses;
  for (const Rewrite& r : report.rewrites) {
    if (!r.pass.starts_with(chapter.passes)) continue;
    auto use = std::find_if(uses.begin(), uses.end(), [&](const RuleUse& u) { return u.rule == r.rule; });
    if (use == uses.end()) use = uses.insert(uses.end(), {r.rule, 0, {}});
    ++use->count;
    if (!r.location.empty() &&
        std::find(use->places.begin(), use->places.end(), r.location) == use->places.end())
      use->places.push_back(r.location);
  }
  return uses;
}

std::string_view word(ConvertNote::Kind kind) {
  switch (kind) {
    case ConvertNote::Kind::assumption: return "assumption";
    case ConvertNote::Kind::baked_size: return "baked size";
    case ConvertNote::Kind::input: return "input";
    case ConvertNote::Kind::custom: return "custom operator";
    case ConvertNote::Kind::weights: return "weights";
    default: return "training";
  }
}

std::string places_text(const std::vector<std::string>& places) {
  constexpr std::size_t shown = 2, width = 80;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, places.size()); ++i) text += (i ? ", " : "") + places[i];
  if (places.size() > shown) text += fmt::format(", and {} more", places.size() - shown);
  return shorten(text, width);
}

}  // namespace

std::string conversion_text(const Model& model) {
  std::string text = fmt::format("{}: {}, {} in, {} out\n", model.path.string(), model.format(),
                                 counted(model.imported->body().nodes().size(), "operator"),
                                 counted(model.graph->body().nodes().size(), "node"));
  text += "sizes\n";
  for (const std::string& line : explain_sizes(model)) text += "  " + line + "\n";
  for (const Chapter& chapter : chapters) {
    const auto uses = uses_of(chapter, model.fusion);
    if (uses.empty()) continue;
    text += std::string(chapter.title) + "\n";
    for (const RuleUse& u : uses)
      text += fmt::format("  {:>5} x {:<24} {}\n", u.count, u.rule, places_text(u.places));
  }
  if (!model.notes.empty()) text += "notes\n";
  for (const ConvertNote& n : model.notes) text += fmt::format("  {}: {}\n", word(n.kind), n.text);
  return text;
}

ordered_json conversion_json(const Model& model) {
  ordered_json record = {{"schema", "tenon.conversion/1"},
                         {"model", model.path.string()},
                         {"format", model.format()},
                         {"operators", model.imported->body().nodes().size()},
                         {"nodes", model.graph->body().nodes().size()},
                         {"sizes", explain_sizes(model)}};
  if (const auto verified = model.metadata.find("verified"); verified != model.metadata.end())
    record["verified"] = verified->second;
  for (const Chapter& chapter : chapters) {
    ordered_json& list = record["rewrites"][std::string(chapter.passes)] = ordered_json::array();
    for (const RuleUse& u : uses_of(chapter, model.fusion))
      list.push_back({{"rule", u.rule}, {"count", u.count}, {"places", u.places}});
  }
  record["notes"] = ordered_json::array();
  for (const ConvertNote& n : model.notes)
    record["notes"].push_back({{"kind", word(n.kind)}, {"text", n.text}});
  record["unsupported"] = ordered_json::array();
  return record;
}

ordered_json conversion_json(const std::filesystem::path& model, const UnsupportedReport& report,
                             const Error& e) {
  ordered_json record = {{"schema", "tenon.conversion/1"},
                         {"model", model.string()},
                         {"error", e.message()},
                         {"unsupported", ordered_json::array()}};
  for (const UnsupportedUse& u : report.uses)
    record["unsupported"].push_back({{"what", u.what},
                                     {"reason", u.reason},
                                     {"count", u.count},
                                     {"places", u.places},
                                     {"instead", u.hint},
                                     {"nearest", u.nearest},
                                     {"can_be_brought", u.is_operator}});
  return record;
}

}  // namespace tenon
