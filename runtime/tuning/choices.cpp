// Measured choices as JSON lines.
#include "runtime/tuning/choices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <sstream>

#include "base/error.h"
#include "base/input_file.h"
#include "base/json.h"
#include "base/version.h"
#include "runtime/group_key.h"

namespace tenon {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* schema = "tenon.tuning/1";

void for_each_line(std::string_view lines, const std::string& where,
                   const std::function<void(const json&)>& take) {
  std::istringstream in{std::string(lines)};
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      const json j = parse_json(line);
      if (j.at("schema") != schema) throw error("another schema");
      take(j);
    } catch (const std::exception&) {
      throw error("this line is no tuning ({})", schema)
          .at(fmt::format("{}:{}", where, number))
          .hint("tenon tune writes them; --tuning none leaves those of an artifact out");
    }
  }
}

TunedChoice choice_of(const json& j) {
  TunedChoice choice = {.group = j.at("group"),
                        .candidate = j.at("candidate"),
                        .ms = j.at("ms"),
                        .incumbent_ms = j.at("incumbent_ms"),
                        .tried = j.value("tried", std::vector<std::string>())};
  if (choice.ms < 0 || choice.incumbent_ms < 0 || j.at("threads").get<int>() < 1)
    throw error("a number that is none of a measurement");
  return choice;
}

}  // namespace

std::string choice_key(const Group& group) {
  std::string text = wiring(group);
  for (const Value* operand : group.operands()) text += operand->is_constant() ? 'c' : 'v';
  for (const Value* result : group.results()) text += result->type().str();
  return hash_of(text);
}

std::string candidate_name(const CandidateInfo& c, const Schedule& schedule) {
  return fmt::format("{}{}{}", scheduled(c.kernel, schedule),
                     c.order.empty() ? "" : fmt::format(" order {}", fmt::join(c.order, ",")),
                     c.weights.empty() ? "" : " weights " + c.weights);
}

std::optional<Decision> candidate_named(std::span<const CandidateInfo> candidates, const std::string& name) {
  const auto find = [&](const std::string& usual, const Schedule& schedule) -> std::optional<Decision> {
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (candidate_name(candidates[i]) == usual && candidates[i].knobs.have(schedule))
        return Decision{i, "", schedule};
    return std::nullopt;
  };
  if (auto found = find(name, {})) return found;
  const std::size_t open = name.find(" ("), close = name.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  const auto schedule = Schedule::parse(std::string_view(name).substr(open + 2, close - open - 2));
  return schedule ? find(name.substr(0, open) + name.substr(close + 1), *schedule) : std::nullopt;
}

Tuning::Tuning(const Device& device, int threads)
    : device_(device.name),
      hardware_(device.hardware() + (device.takes_tf32 ? " | tf32" : "")),
      threads_(threads) {}

const TunedChoice* Tuning::find(const std::string& key) const {
  const auto found = choices_.find(key);
  return found == choices_.end() ? nullptr : &found->second;
}

void Tuning::read(std::string_view lines, const std::string& where) {
  for_each_line(lines, where, [&](const json& j) {
    const TunedChoice choice = choice_of(j);
    if (j.at("device") == device_ && j.at("hardware") == hardware_ && j.at("threads") == threads_)
      put(j.at("key"), choice);
  });
}

void Tuning::read(const std::filesystem::path& file) { read(read_text(file), file.string()); }

std::string Tuning::lines() const {
  std::string text;
  for (const auto& [key, choice] : choices_)
    text += ordered_json{{"schema", schema},      {"tenon", version()},
                         {"device", device_},     {"hardware", hardware_},
                         {"threads", threads_},   {"key", key},
                         {"group", choice.group}, {"candidate", choice.candidate},
                         {"ms", choice.ms},       {"incumbent_ms", choice.incumbent_ms},
                         {"tried", choice.tried}}
                .dump() +
            "\n";
  return text;
}

Chooser Tuning::chooser() const {
  if (choices_.empty()) return least_estimate;
  return [choices = std::make_shared<const std::map<std::string, TunedChoice>>(choices_)](
             const Group& group, std::span<const CandidateInfo> candidates) {
    const auto tuned = choices->find(choice_key(group));
    auto decision =
        tuned == choices->end() ? std::nullopt : candidate_named(candidates, tuned->second.candidate);
    if (!decision) return least_estimate(group, candidates);
    decision->why = fmt::format("measured: {:.3g} ms, that of the least estimate {:.3g} ms", tuned->second.ms,
                                tuned->second.incumbent_ms);
    return *decision;
  };
}

TuningLines read_tuning(const std::filesystem::path& file) { return {read_text(file), file.string()}; }

std::string merged_tunings(std::span<const TuningLines> tunings) {
  std::map<std::string, std::string> last;
  for (const auto& [lines, where] : tunings)
    for_each_line(lines, where, [&](const json& j) {
      static_cast<void>(choice_of(j));
      const std::string key =
          fmt::format("{}|{}|{}|{}", j.at("hardware").get<std::string>(), j.at("device").get<std::string>(),
                      j.at("threads").get<int>(), j.at("key").get<std::string>());
      last[key] = ordered_json(j).dump();
    });
  std::string text;
  for (const auto& [key, line] : last) text += line + "\n";
  return text;
}

}  // namespace tenon
