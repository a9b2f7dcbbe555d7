// Comparisons as JSON, and stored profiles read back.
#include "base/error.h"
#include "base/input_file.h"
#include "base/json.h"
#include "report/compare.h"

namespace tenon {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

ordered_json to_json(const Change& c) {
  return {{"name", c.name},
          {"steps", {c.steps_before, c.steps_after}},
          {"before_ms", c.before_ms},
          {"after_ms", c.after_ms},
          {"ratio", c.ratio},
          {"ratio_ci95", {c.ci95.low, c.ci95.high}},
          {"p", c.p},
          {"slower", c.slower}};
}

ordered_json to_json(const MeasuredInputs& inputs) {
  auto list = ordered_json::array();
  for (const MeasuredInput& i : inputs) list.push_back({{"name", i.name}, {"type", i.type}});
  return list;
}

MeasuredInputs inputs_in(const json& profile) {
  MeasuredInputs types;
  for (const json& i : profile.at("model").at("inputs"))
    types.push_back({i.at("name").get<std::string>(), i.at("type").get<std::string>()});
  return measured(std::move(types), profile.at("sizes").get<Bindings>());
}

}  // namespace

ordered_json to_json(const Comparison& c) {
  ordered_json out{{"before", c.before},
                   {"after", c.after},
                   {"inputs", {{"before", to_json(c.inputs_before)}, {"after", to_json(c.inputs_after)}}},
                   {"interleaved", c.interleaved},
                   {"rounds", c.rounds},
                   {"max_slowdown", c.max_slowdown},
                   {"slower", c.slower()},
                   {"total", to_json(c.total)},
                   {"steps", ordered_json::array()},
                   {"unmatched_before", c.unmatched_before},
                   {"unmatched_after", c.unmatched_after}};
  for (const Change& s : c.steps) out["steps"].push_back(to_json(s));
  return out;
}

Recording load_recording(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = InputFile(path).read_all();
  const auto not_ours = [&](std::string_view why) {
    return error("this is no profile: {}", why)
        .at(path.string())
        .hint("write one with: tenon profile model.pt --json profile.json");
  };
  const char* text = reinterpret_cast<const char*>(bytes.data());
  const json j = parse_json_or_discard({text, bytes.size()});
  if (!j.is_object()) throw not_ours("it is not a JSON object");
  if (j.value("schema", json()) != "tenon.profile/1") throw not_ours("its schema is not tenon.profile/1");
  try {
    Recording r{.label = path.string(),
                .machine = machine_name(j.at("machine").at("cpu"), j.at("machine").at("isa")),
                .device = j.at("device").get<std::string>(),
                .threads = j.at("threads").get<int>(),
                .inputs = inputs_in(j)};
    for (const json& s : j.at("steps")) {
      r.steps.push_back({s.at("op").get<std::string>(), s.at("module").get<std::string>(),
                         s.at("modules").get<std::vector<std::string>>()});
      r.samples.step_ms.push_back(s.at("samples_ms").get<std::vector<double>>());
    }
    r.samples.total_ms = j.at("step_runs_ms").get<std::vector<double>>();
    for (const auto& samples : r.samples.step_ms)
      if (samples.size() != r.samples.total_ms.size()) throw not_ours("its steps have samples of other runs");
    if (r.samples.total_ms.empty()) throw not_ours("it has no samples");
    return r;
  } catch (const json::exception& e) { throw not_ours(e.what()); } catch (const Error& e) {
    if (!e.where().empty()) throw;
    throw not_ours(e.message());  // types and sizes that do not fit together
  }
}

}  // namespace tenon
