#include "check/speed.h"

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/count.h"
#include "base/shell.h"
#include "kernels/cpu/isa.h"
#include "report/compare_runs.h"
#include "report/profile.h"
#include "report/profile_json.h"
#include "report/profile_text.h"
#include "report/unfused.h"
#include "runtime/cost/predict.h"

namespace tenon {
namespace {

namespace fs = std::filesystem;

bool is_stored_profile(const fs::path& baseline) { return baseline.extension() == ".json"; }

std::string record_anew(const Case& c) {
  const std::string& device = c.settings.device.name;
  return fmt::format("record it anew: tenon check {} --update=speed{}", path_in_shell(c.folder.string()),
                     device == cpu_device().name ? "" : " --device " + in_shell(device));
}

ProfileReport profile_of(const Case& c, const Model& model, std::span<const Tensor> inputs) {
  Session session(model.graph, session_options(model, device_of(c.settings), c.settings.threads));
  return profile_report(model, session, inputs, {}, std::nullopt);
}

Comparison by_turns(const Case& c, const Model& model, const OpenOptions& options,
                    std::span<const Tensor> inputs, const CompareOptions& limits) {
  const auto session_of = [&](const Model& m) {
    return session_options(m, device_of(c.settings), c.settings.threads);
  };
  const std::vector<Tensor> same(inputs.begin(), inputs.end());
  const fs::path path = c.file(c.settings.speed.baseline);
  OpenOptions of_baseline = options;
  of_baseline.convert.others_take = true;  // the case gives them to its model
  const Model baseline = open_model(path, of_baseline);
  return compare_running({c.settings.speed.baseline, baseline.graph, same, session_of(baseline)},
                         {c.model.filename().string(), model.graph, same, session_of(model)}, {}, limits);
}

Failure slower(const Case& c, const Comparison& comparison) {
  std::string what = "the total";
  double ratio = comparison.total.ratio;
  for (const Change& step : comparison.steps) {
    if (comparison.total.slower || !step.slower) continue;
    what = step.name;
    ratio = step.ratio;
    break;
  }
  return {.kind = failure::slower,
          .message = fmt::format("{} takes {:.2f} times as long as {}, case.toml allows {}", what, ratio,
                                 c.settings.speed.baseline, comparison.max_slowdown),
          .details = to_text(comparison, {.top = 10, .show_all = ""}),
          .file = settings_file,
          .data = to_json(comparison)};
}

std::optional<Failure> fusion_gain(const Model& model, std::span<const Tensor> inputs,
                                   const CaseSettings& settings) {
  const double least = *settings.speed.over_unfused;
  Session session(model.graph, session_options(model, device_of(settings), settings.threads));
  const Unfused unfused = measure_unfused(model, session, inputs);
  if (unfused.ratio_ci95.high >= least) return std::nullopt;
  return Failure{
      .kind = failure::slower,
      .message = fmt::format("fusion makes it {:.2f} times as fast (95% CI {:.2f} to {:.2f}), "
                             "case.toml wants {}",
                             unfused.ratio, unfused.ratio_ci95.low, unfused.ratio_ci95.high, least),
      .details = {},
      .file = settings_file,
      .data = {{"over_unfused", unfused.ratio},
               {"ci95", {unfused.ratio_ci95.low, unfused.ratio_ci95.high}},
               {"limit", least}}};
}

// The plan for the described device, which is the same on every machine that has its instruction set.
void guard_prediction(SpeedVerdict& verdict, const Case& c, const Model& model,
                      std::span<const Tensor> inputs) {
  const SpeedSettings& speed = c.settings.speed;
  if (speed.predicted_on.empty())
    throw error("predicted_ms needs predicted_on")
        .at(c.file(settings_file).string())
        .hint("name a file that tenon doctor --describe wrote");
  const MachineDescription machine = load_machine(c.file(speed.predicted_on));
  if (is_of_another_model(machine, CostModel::shipped()))
    verdict.notes.push_back(
        fmt::format("{} was calibrated for the cost model of another version, which says nothing of this one",
                    speed.predicted_on));
  const auto isas = cpu::runnable_isas();
  const auto isa = std::ranges::find(isas, machine.isa, [](cpu::Isa i) { return cpu::name(i); });
  if (isa == isas.end()) {
    verdict.notes.push_back(
        fmt::format("time not predicted: this machine runs no kernels of {}", machine.isa));
    return;
  }
  const cpu::ForceIsa forced(*isa);
  SessionOptions options = session_options(model, cpu_device(), c.settings.threads);
  options.choose = least_estimate;
  const Prediction p = predict(*Session(model.graph, options).plan_for(inputs), machine, c.settings.threads,
                               CostModel::shipped());
  const double limit = *speed.predicted_ms;
  if (p.ms <= limit) return;
  verdict.failures.push_back({.kind = failure::slower,
                              .message = fmt::format("{:.3g} ms are predicted on {}, case.toml allows {}",
                                                     p.ms, machine.hardware, limit),
                              .details = {},
                              .file = settings_file,
                              .data = {{"predicted_ms", p.ms}, {"limit", limit}}});
}

}  // namespace

SpeedVerdict check_speed(const Case& c, const Model& model, const OpenOptions& options,
                         std::span<const Tensor> inputs) {
  const SpeedSettings& speed = c.settings.speed;
  SpeedVerdict verdict;
  if (!speed.baseline.empty()) {
    const CompareOptions limits{.max_slowdown = speed.max_slowdown.value_or(1.1)};
    Comparison comparison;
    if (!fs::exists(c.file(speed.baseline)))
      throw error("the baseline is not there")
          .at(c.file(speed.baseline).string())
          .hint(is_stored_profile(speed.baseline)
                    ? "record it: tenon check " + path_in_shell(c.folder.string()) + " --update=speed"
                    : "put a model or an artifact there");
    if (is_stored_profile(speed.baseline)) {
      const Recording before = load_recording(c.file(speed.baseline));
      const MeasuredInputs now = measured(*model.graph, inputs);
      const Device& device = device_of(c.settings);
      const MachineInfo here = machine_info(device);
      const std::string machine = machine_name(here.cpu, here.isa);
      if (before.device != device.name)
        throw error("the baseline was recorded on the device {}, the case runs on {}", before.device,
                    device.name)
            .at(c.file(speed.baseline).string())
            .hint(record_anew(c));
      if (before.threads != c.settings.threads)
        throw error("the baseline was recorded with {}, the case has {}", counted(before.threads, "thread"),
                    c.settings.threads)
            .at(c.file(speed.baseline).string())
            .hint(record_anew(c));
      if (!same_sizes(before.inputs, now))
        throw error("the baseline was recorded with {}, the case has {}", str(before.inputs), str(now))
            .at(c.file(speed.baseline).string())
            .hint(record_anew(c));
      if (before.machine != machine)
        verdict.notes.push_back(fmt::format("speed not compared: {} was recorded on {}, this is {}",
                                            speed.baseline, before.machine, machine));
      else
        comparison = compare_stored(before, recording_of(profile_of(c, model, inputs)), limits);
    } else {
      comparison = by_turns(c, model, options, inputs, limits);
    }
    if (comparison.slower()) verdict.failures.push_back(slower(c, comparison));
  }
  if (speed.over_unfused && !model.is_source())
    throw error("over_unfused needs the source model: an artifact holds the fused graph only")
        .at(c.file(settings_file).string());
  if (speed.over_unfused)
    if (auto failed = fusion_gain(model, inputs, c.settings)) verdict.failures.push_back(std::move(*failed));
  if (speed.predicted_ms) guard_prediction(verdict, c, model, inputs);
  return verdict;
}

std::vector<std::string> record_speed(const Case& c, const Model& model, std::span<const Tensor> inputs) {
  const std::string& baseline = c.settings.speed.baseline;
  if (!is_stored_profile(baseline))
    return {"speed: case.toml names no stored profile (baseline = \"speed.json\")"};
  const ProfileReport report = profile_of(c, model, inputs);
  AtomicFile file(c.file(baseline));
  file.write(to_json(report).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  file.commit();
  return {fmt::format("{}: {:.3f} ms", baseline, report.run.latency.median)};
}

}  // namespace tenon
