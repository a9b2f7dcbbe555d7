#include "check/result.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tenon {
namespace {

using nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> statuses{"passed", "failed", "skipped"};

// JSON has no infinity: it is written as null.
double number_or_infinity(const ordered_json& j) {
  return j.is_number() ? j.get<double>() : std::numeric_limits<double>::infinity();
}

}  // namespace

std::string_view str(Status status) { return statuses.at(static_cast<std::size_t>(status)); }

ordered_json to_json(const CaseResult& r) {
  ordered_json failures = ordered_json::array();
  for (const Failure& f : r.failures)
    failures.push_back({{"kind", f.kind},
                        {"message", f.message},
                        {"details", f.details},
                        {"file", f.file},
                        {"data", f.data}});
  return {{"name", r.name},
          {"model", r.model},
          {"status", str(r.status)},
          {"reason", r.reason},
          {"seconds", r.seconds},
          {"failures", failures},
          {"recorded", r.recorded},
          {"notes", r.notes},
          {"types_only", r.types_only},
          {"nodes", r.measures.nodes},
          {"steps", r.measures.steps},
          {"reference_steps", r.measures.reference_steps},
          {"arena_bytes", r.measures.arena_bytes},
          {"artifact_bytes", r.measures.artifact_bytes},
          {"samples", r.measures.samples},
          {"relative_error", r.measures.relative_error},
          {"operators", r.measures.operators}};
}

CaseResult case_result(const ordered_json& j) {
  CaseResult r{.name = j.at("name"),
               .model = j.at("model"),
               .reason = j.at("reason"),
               .seconds = j.at("seconds"),
               .recorded = j.at("recorded"),
               .notes = j.at("notes"),
               .types_only = j.at("types_only"),
               .measures = {.nodes = j.at("nodes"),
                            .steps = j.at("steps"),
                            .reference_steps = j.at("reference_steps"),
                            .arena_bytes = j.at("arena_bytes"),
                            .artifact_bytes = j.at("artifact_bytes"),
                            .samples = j.at("samples"),
                            .relative_error = number_or_infinity(j.at("relative_error")),
                            .operators = j.at("operators")}};
  const auto status = std::find(statuses.begin(), statuses.end(), j.at("status").get<std::string>());
  r.status = static_cast<Status>(status - statuses.begin());
  for (const ordered_json& f : j.at("failures"))
    r.failures.push_back({.kind = f.at("kind"),
                          .message = f.at("message"),
                          .details = f.at("details"),
                          .file = f.at("file"),
                          .data = f.at("data")});
  return r;
}

}  // namespace tenon
