// Records as JSON lines.
#include "runtime/cost/record.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "base/checksum.h"
#include "base/error.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/statistics.h"
#include "base/version.h"

namespace tenon {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* schema = "tenon.record/1";

void put_times(ordered_json& out, std::span<const double> samples) {
  out["runs"] = samples.size();
  out["min_ms"] = *std::ranges::min_element(samples);
  out["median_ms"] = median(samples);
  out["spread_ms"] = quantile(samples, 0.75) - quantile(samples, 0.25);
}

ordered_json device_json(const MachineDescription& m, int threads) {
  ordered_json out = to_json(m);
  out.erase("schema");
  out.erase("rates");
  out["threads"] = threads;
  return out;
}

ordered_json uses_json(const std::vector<TensorUse>& tensors) {
  ordered_json list = ordered_json::array();
  for (const TensorUse& t : tensors)
    list.push_back(
        {{"type", t.layout.type_string()}, {"strides", t.layout.strides()}, {"from", name(t.from)}});
  return list;
}

// Of features that another version did not know nothing is known: 0.
Features features_of_json(const json& j) {
  Features f;
  for (const FeatureInfo& info : feature_table) f.*info.value = j.value(std::string(info.name), 0.0);
  return f;
}

std::string program_of(std::span<const MeasuredStep> steps) {
  std::string keys;
  for (const MeasuredStep& s : steps) keys += s.step.key;
  return fmt::format("{:08x}-{}", crc32(std::as_bytes(std::span(keys))), steps.size());
}

}  // namespace

ordered_json to_json(const Features& f, bool with_device) {
  ordered_json out = ordered_json::object();
  for (const FeatureInfo& info : feature_table)
    if (with_device || !info.of_device) out[std::string(info.name)] = f.*info.value;
  return out;
}

ordered_json to_json(const StepFeatures& s) {
  ordered_json out{{"key", s.key},
                   {"reads", uses_json(s.reads)},
                   {"writes", uses_json(s.writes)},
                   {"extents", s.extents},
                   {"reduced_axes", s.reduced_axes},
                   {"features", to_json(s.numbers, false)},
                   {"candidates", ordered_json::array()}};
  for (std::size_t i = 0; i < s.candidates.size(); ++i) {
    const CandidateInfo& c = s.candidates[i];
    out["candidates"].push_back({{"kernel", c.kernel},
                                 {"estimated_ms", 1e3 * c.seconds},
                                 {"flops", c.work.flops},
                                 {"bytes", c.work.bytes},
                                 {"order", c.order},
                                 {"scratch_bytes", c.scratch_bytes},
                                 {"taken", i == s.taken}});
  }
  return out;
}

std::string record_lines(std::span<const MeasuredStep> steps, std::span<const double> latency_ms,
                         const MachineDescription& machine, int threads) {
  const ordered_json device = device_json(machine, threads);
  const std::string program = program_of(steps);
  const auto line = [&](const char* kind) {
    return ordered_json{
        {"schema", schema}, {"tenon", version()}, {"kind", kind}, {"program", program}, {"device", device}};
  };
  ordered_json run = line("run");
  run["steps"] = steps.size();
  put_times(run, latency_ms);
  std::string text = run.dump() + "\n";
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const MeasuredStep& s = steps[i];
    ordered_json step = line("step");
    step["step"] = i;
    step["key"] = s.step.key;
    const CandidateInfo taken =
        s.step.candidates.empty() ? CandidateInfo{.kernel = s.step.kernel} : s.step.candidates[s.step.taken];
    step["candidate"] = {{"family", s.step.kernel},
                         {"kernel", taken.kernel},
                         {"order", taken.order},
                         {"weights", taken.weights},
                         {"threads", threads}};
    Features features = s.step.numbers;
    put_machine(features, machine, machine.of(threads));
    step["features"] = to_json(features, true);
    put_times(step, s.samples_ms);
    text += step.dump() + "\n";
  }
  return text;
}

void check_takes_records(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) return;
  std::ifstream in(file);
  std::string first;
  if (!std::getline(in, first)) return;
  const json line = parse_json_or_discard(first);
  if (line.is_object() && line.value("schema", json()) == schema) return;
  throw error("this file holds no records (tenon.record/1), to which more could be added")
      .at(file.string())
      .hint("name a new file");
}

std::vector<StepRecord> load_records(const std::filesystem::path& file, const MachineDescription& machine,
                                     int threads) {
  std::istringstream in(read_text(file));
  std::map<std::string, std::pair<StepRecord, std::vector<double>>> by_key;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      const json record = parse_json(line);
      if (record.at("schema") != schema) throw error("this is no record");
      const json& device = record.at("device");
      if (record.at("kind") != "step" || device.at("hardware") != machine.hardware ||
          device.at("isa") != machine.isa || device.at("threads") != threads)
        continue;
      auto& [step, times] = by_key[record.at("key")];
      times.push_back(record.at("median_ms"));
      constexpr double longest_ms = 1e9;
      if (!(times.back() > 0 && times.back() < longest_ms)) throw error("this is no time");
      step = {.key = record.at("key"),
              .kernel = record.at("candidate").at("family"),
              .features = features_of_json(record.at("features"))};
    } catch (const std::exception&) {
      throw error("this line is no record (tenon.record/1)")
          .at(fmt::format("{}:{}", file.string(), number))
          .hint("write records with tenon profile --contribute");
    }
  }
  std::vector<StepRecord> steps;
  for (auto& [key, found] : by_key) {
    found.first.ms = median(found.second);
    steps.push_back(std::move(found.first));
  }
  return steps;
}

}  // namespace tenon
