#include "tools/calibrate.h"

#include <fmt/core.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/count.h"
#include "base/environment.h"
#include "base/error.h"
#include "pipeline/calibration/measure.h"
#include "runtime/roofline.h"
#include "tools/output.h"
#include "tools/terminal.h"

namespace tenon::tools {
namespace {

constexpr double most_seconds = 2;  // for each network and number of threads

// A machine is at its best for moments: the cache keeps the best of these.
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

// Where nothing can be kept minutes of work would be in vain.
std::string writable_file(const CalibrationCache& cache) {
  if (cache.file().empty())
    throw environment_error("no folder for a cache is known: HOME and XDG_CACHE_HOME are not set")
        .at("tenon doctor --calibrate")
        .hint("set one of them");
  std::error_code failed;
  std::filesystem::create_directories(cache.file().parent_path(), failed);
  if (failed)
    throw environment_error("the folder of the cache cannot be made: {}", failed.message())
        .at(cache.file().parent_path().string())
        .hint("set XDG_CACHE_HOME to another one");
  check_writable(cache.file().string());
  return cache.file().string();
}

struct Result {
  Rates rates;  // calibrated
  std::size_t steps = 0, calm = 0;
  CalibrationErrors errors;
};

Result calibrated(std::span<const CalibrationNet> nets, int threads, Progress& progress) {
  const std::string on = counted(threads, "thread");
  progress.say(fmt::format("measuring what {} can do", on));
  measure_peaks(threads);
  const MachineDescription machine =
      describe_machine(cpu_device(), std::span(&threads, 1), RooflineCache(), CalibrationCache(""));
  std::vector<MeasuredNet> measured =
      measure_nets(nets, cpu_device(), machine, threads, most_seconds * static_cast<double>(nets.size()),
                   [&](std::string_view net) { progress.say(fmt::format("{}: {}", on, net)); });
  const CostModel& model = CostModel::shipped();
  Result result{.rates = machine.of(threads)};
  std::erase_if(measured, [](const MeasuredNet& net) { return net.calm_runs == 0; });
  result.errors = errors_of(measured, model);
  result.calm = measured.size();
  std::vector<StepRecord> steps;
  for (const MeasuredNet& net : measured) { steps.insert(steps.end(), net.steps.begin(), net.steps.end()); }
  result.steps = steps.size();
  result.rates.calibrated = {model.digest(), factors_of(steps, model)};
  return result;
}

nlohmann::ordered_json to_json(const Result& r, std::size_t networks, bool is_kept) {
  const KernelFactors& factors = r.rates.calibrated->factors;
  return {{"threads", r.rates.threads},
          {"networks", networks},
          {"calm", r.calm},
          {"steps", r.steps},
          {"error_as_shipped", r.errors.before},
          {"error_calibrated", r.errors.after},
          {"usual", factors.usual},
          {"kernels", factors.kernels},
          {"kept", is_kept}};
}

}  // namespace

int calibrate(const std::string& only, bool json) {
  const std::vector<CalibrationNet> nets = nets_named(only);
  const bool is_whole = nets.size() == calibration_nets().size();
  const CalibrationCache cache;
  const std::string file = writable_file(cache);
  Progress progress;
  Table table({"threads", "networks", "calm", "steps", "error as shipped", "calibrated", "kept"});
  nlohmann::ordered_json out{{"hardware", cpu_device().hardware()}, {"cache", file}};
  bool all_calm = true;
  for (const int threads : described_threads()) {
    const Result r = calibrated(nets, threads, progress);
    const bool is_calm = 2 * r.calm >= nets.size(),
               is_kept = is_whole && is_calm && cache.keep(cpu_device(), r.rates);
    all_calm = all_calm && is_calm;
    table.add({std::to_string(threads), std::to_string(nets.size()), std::to_string(r.calm),
               std::to_string(r.steps), percent(r.errors.before), percent(r.errors.after),
               is_kept ? "yes" : "no"});
    out["calibrations"].push_back(to_json(r, nets.size(), is_kept));
  }
  progress.say("");
  if (json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    fmt::print("{}\n{}\nError: of a calm network's time, by the factors that the other ones say\n",
               cpu_device().hardware(), table.str());
    if (!is_whole) fmt::print("what some of the networks say is not kept\n");
    if (!all_calm)
      fmt::print(
          "other programs take this machine's time: fewer than half of the networks had a calm run. "
          "Calibrate it again when they rest\n");
    if (is_whole) fmt::print("predictions and profiles use what is kept in {}\n", file);
  }
  return static_cast<int>(all_calm || !is_whole ? Exit::done : environment_failed);
}

}  // namespace tenon::tools
