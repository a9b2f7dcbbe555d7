#include "tools/calibrate.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "base/count.h"
#include "base/error.h"
#include "pipeline/calibration/measure.h"
#include "runtime/roofline.h"
#include "tools/output.h"
#include "tools/terminal.h"

namespace tenon::tools {
namespace {

constexpr double most_seconds = 2;  // for each network and number of threads

/// A machine is at its best for moments: the cache keeps the best of these.
void measure_peaks(int threads) {
  constexpr int times = 3;
  for (int i = 0; i < times; ++i) RooflineCache().measure(cpu_device(), threads);
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::vector<CalibrationNet> nets_named(const std::string& only) {
  std::vector<CalibrationNet> nets;
  for (const CalibrationNet& net : calibration_nets())
    if (net.name.find(only) != std::string_view::npos) nets.push_back(net);
  if (!nets.empty()) return nets;
  std::string all;
  for (const CalibrationNet& net : calibration_nets())
    all += fmt::format("{}'{}'", all.empty() ? "" : ", ", net.name);
  throw error("no network has a name with '{}' in it", only).at("--only").hint("these are there: " + all);
}

}  // namespace

int calibrate(const std::string& only, bool json) {
  const std::vector<CalibrationNet> nets = nets_named(only);
  const Device& device = cpu_device();
  const CalibrationCache cache;
  const CostModel& model = CostModel::shipped();
  Progress progress;
  Table table({"threads", "networks", "calm", "steps", "error as shipped", "calibrated"});
  nlohmann::ordered_json out{{"hardware", device.hardware()}, {"cache", cache.file().string()}};
  std::size_t disturbed = 0;
  for (const int threads : described_threads()) {
    const std::string on = counted(threads, "thread");
    progress.say(fmt::format("measuring what {} can do", on));
    measure_peaks(threads);
    const MachineDescription machine =
        describe_machine(device, std::span(&threads, 1), RooflineCache(), CalibrationCache(""));
    const std::vector<MeasuredNet> measured =
        measure_nets(nets, device, machine, threads, most_seconds * static_cast<double>(nets.size()),
                     [&](std::string_view net) { progress.say(fmt::format("{}: {}", on, net)); });
    std::vector<StepRecord> steps;
    std::size_t calm = 0;
    for (const MeasuredNet& net : measured) {
      steps.insert(steps.end(), net.steps.begin(), net.steps.end());
      calm += net.calm_runs > 0;
    }
    disturbed += nets.size() - calm;
    Rates rates = machine.of(threads);
    rates.calibrated = {model.digest(), factors_of(steps, model)};
    cache.keep(device, rates);
    const CalibrationErrors errors = errors_of(measured, model);
    table.add({std::to_string(threads), std::to_string(nets.size()), std::to_string(calm),
               std::to_string(steps.size()), percent(errors.before), percent(errors.after)});
    out["calibrations"].push_back({{"threads", threads},
                                   {"networks", nets.size()},
                                   {"calm", calm},
                                   {"steps", steps.size()},
                                   {"error_as_shipped", errors.before},
                                   {"error_calibrated", errors.after},
                                   {"usual", rates.calibrated->factors.usual},
                                   {"kernels", rates.calibrated->factors.kernels}});
  }
  progress.say("");
  const bool is_kept = cache.find(device, 1).has_value();
  if (json) {
    fmt::print("{}\n", out.dump(2));
    return 0;
  }
  fmt::print("{}\n{}\nError: of a network's time, by the factors that the other networks say\n",
             device.hardware(), table.str());
  if (disturbed > 0)
    fmt::print(
        "{} had no calm run, since other programs take this machine's time: calibrate it again when they "
        "rest\n",
        counted(disturbed, "network"));
  fmt::print("{} {}\n", is_kept ? "predictions and profiles use it from" : "it cannot be kept in",
             cache.file().string());
  return 0;
}

}  // namespace tenon::tools
