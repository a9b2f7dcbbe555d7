// tenon predict: what a model will take, without running it.
#include <fmt/core.h>

#include <filesystem>
#include <thread>

#include "base/count.h"
#include "ir/bind.h"
#include "report/prediction.h"
#include "runtime/cost/record.h"
#include "tools/isa_option.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/this_machine.h"
#include "tools/times_option.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

struct PredictVerb {
  ModelOptions model;
  IsaOption isa;
  std::vector<std::string> devices;  // to compare
  std::string json, records;
  TimesOption times;
  std::size_t top = 15;
  bool what_if = false;
};

void write_json(const std::string& file, const nlohmann::ordered_json& json) {
  write_text(file, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

/// The machine of a file. One that was calibrated for another cost model counts as one that was not.
MachineDescription machine_of(const std::string& file) {
  MachineDescription machine = load_machine(file);
  if (is_of_another_model(machine, CostModel::shipped()))
    fmt::print(
        stderr,
        "warning: {} was calibrated for the cost model of another version, which says nothing of this one: "
        "calibrate and describe that machine again\n",
        file);
  return machine;
}

/// What --device names, if it is the description of a device, is the machine; the device is of its kind.
std::optional<MachineDescription> described(PredictVerb& o) {
  std::string& name = o.model.on.choice.name;
  if (!name.ends_with(".json") && !std::filesystem::is_regular_file(name)) return std::nullopt;
  MachineDescription machine = machine_of(name);
  name = machine.device;
  return machine;
}

// The plan is that of the described instruction set, where there are kernels of it here.
IsaOption isa_of(const MachineDescription& machine) {
  for (const cpu::Isa isa : cpu::runnable_isas())
    if (cpu::name(isa) == machine.isa) return {.name = machine.isa};
  fmt::print(stderr, "warning: this machine runs no kernels of {}: those of {} are planned instead\n",
             machine.isa, cpu::name(cpu::isa()));
  return {};
}

const Device& modelled_device(const ModelOptions& o) {
  const Device& device = o.on.device();
  if (!device.shares_memory)
    throw error("there is no cost model of {} yet", device.name)
        .at("--device")
        .hint("predict for a CPU; tenon profile --device " + device.name + " measures it");
  return device;
}

/// What the model will take on this machine; kernels of its instruction set are forced. What was tuned was
/// tuned here: elsewhere estimates choose.
PredictionReport predicted(const ModelOptions& o, const MachineDescription& machine, bool is_elsewhere,
                           const Calibration& calibration, Progress& progress) {
  const Model model = o.open([&](std::string_view what) { progress.say(what); });
  SessionOptions options = o.session_options(model);
  if (is_elsewhere && o.weights_memory == "fast") options.choose = least_estimate;
  Session session(model.graph, std::move(options));
  const std::vector<Tensor> inputs = o.values(model);
  progress.say("planning");
  const auto plan = session.plan_for(inputs);
  progress.say("");
  return prediction_report(model, *plan, bind_inputs(session.graph(), inputs), machine, o.threads,
                           calibration);
}

MachineDescription with_rates(MachineDescription machine, double Peak::*rate, double times) {
  for (Rates& r : machine.rates) r.peak.*rate *= times;
  return machine;
}

Calibration calibrated_by(const std::string& file, const MachineDescription& machine, int threads) {
  if (file.empty()) return {};
  const std::vector<StepRecord> records = load_records(file, machine, threads);
  if (records.empty())
    fmt::print(stderr, "warning: {} has no step that ran on {} as {} with {}: they change nothing\n", file,
               machine.hardware, machine.isa, counted(threads, "thread"));
  return {records, CostModel::shipped(), machine.of(threads)};
}

/// What the same model would take if one thing were different. Each is the prediction of a plan made for it;
/// but a machine that is better in one thing makes nothing slower than `now`.
std::vector<Alternative> alternatives(const ModelOptions& o, const MachineDescription& machine,
                                      bool is_elsewhere, const Calibration& calibration,
                                      const Prediction& now, Progress& progress) {
  std::vector<Alternative> all;
  const Calibration factors = calibration.factors_alone();
  const auto add = [&](std::string what, const ModelOptions& changed, const MachineDescription& on,
                       const Calibration& known) {
    all.push_back({std::move(what), predicted(changed, on, is_elsewhere, known, progress).prediction});
  };
  for (const Rates& r : machine.rates) {
    if (r.threads == o.threads) continue;
    ModelOptions threads = o;
    threads.threads = r.threads;
    add(fmt::format("--threads {}", r.threads), threads, machine,
        calibration.for_others(machine.of(o.threads), r, CostModel::shipped()));
  }
  const bool is_source = o.path.ends_with(".pt") || o.path.ends_with(".pt2") || o.path.ends_with(".onnx");
  if (o.on.precision() == Precision::kept && is_source) {
    ModelOptions narrow = o;
    narrow.on.choice.precision = "bf16";
    add("--precision bf16", narrow, machine, calibration);
  }
  const auto add_better = [&](std::string what, double Peak::*rate) {
    add(std::move(what), o, with_rates(machine, rate, 2), factors);
    if (all.back().prediction.ms > now.ms) all.back().prediction = now;
  };
  add_better("memory twice as fast", &Peak::gbs);
  add_better("arithmetic twice as fast", &Peak::gflops);
  return all;
}

int compare_devices(const PredictVerb& o) {
  Progress progress;
  std::vector<PredictionReport> reports;
  for (const std::string& file : o.devices) {
    const MachineDescription machine = machine_of(file);
    static_cast<void>(machine.of(o.model.threads));
    ModelOptions there = o.model;
    there.on.choice.name = machine.device;
    const auto forced = isa_of(machine).force(modelled_device(there));
    reports.push_back(predicted(there, machine, true, {}, progress));
  }
  if (o.json != "-") fmt::print("{}", devices_text(reports));
  if (!o.json.empty()) write_json(o.json, to_json(reports));
  return 0;
}

int run_predict(PredictVerb o, const CLI::App& verb) {
  o.times.check(verb);
  if (!o.devices.empty()) {
    refuse_unused(verb, "with --compare-devices",
                  {"--device", "--isa", "--records", "--by", "--top", "--what-if"});
    return compare_devices(o);
  }
  std::optional<MachineDescription> machine = described(o);
  if (machine) refuse_unused(verb, "where a file describes the device", {"--isa"});
  const Device& device = modelled_device(o.model);
  const bool is_elsewhere = machine.has_value();
  if (is_elsewhere) static_cast<void>(machine->of(o.model.threads));
  const auto forced = machine ? isa_of(*machine).force(device) : o.isa.force(device);
  Progress progress;
  if (!machine) {
    std::vector<int> threads{o.model.threads};
    const int cores = static_cast<int>(std::thread::hardware_concurrency());
    if (o.what_if && cores != o.model.threads) threads.push_back(cores);
    progress.say("measuring what this machine can do (once)");
    machine = this_machine(device, threads);
  }
  const Calibration calibration = calibrated_by(o.records, *machine, o.model.threads);
  PredictionReport report = predicted(o.model, *machine, is_elsewhere, calibration, progress);
  if (o.what_if)
    report.alternatives =
        alternatives(o.model, *machine, is_elsewhere, calibration, report.prediction, progress);
  if (o.json != "-")
    fmt::print("{}{}", to_text(report, o.times.by, o.top, o.times.depth), alternatives_text(report));
  if (!o.json.empty()) write_json(o.json, to_json(report));
  return 0;
}

}  // namespace

void add_predict(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "predict", "Say what a model will take, with an interval, by step and by module, without running it");
  auto o = std::make_shared<PredictVerb>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->get_option("--device")
      ->description(
          "The device, or a file that describes one: tenon doctor --describe FILE writes it on that machine");
  o->isa.add(*verb);
  verb->add_option("--records", o->records,
                   "Steps that were measured on this device go before the model, and calibrate it for the "
                   "others (tenon "
                   "profile --contribute)")
      ->type_name("FILE")
      ->check(not_empty());
  verb->add_option("--compare-devices", o->devices,
                   "Files that describe devices: what the model takes on each, beside the first")
      ->type_name("FILE...")
      ->check(not_empty());
  verb->add_flag(
      "--what-if", o->what_if,
      "Predict it again with other threads, in bf16, and on a machine whose memory or arithmetic is "
      "twice as fast");
  o->times.add(*verb);
  verb->add_option("--top", o->top, "Lines of the table (0: all)")
      ->capture_default_str()
      ->check(integer_from(0));
  verb->add_option("--json", o->json, "Write it as JSON (-: to standard output, without the text)")
      ->type_name(file_written);
  verb->footer(
      "Example: tenon predict model.tenon --device zen4.json --shape N=8\n"
      "         tenon predict resnet50.pt2 --threads 2 --by module --depth 1\n"
      "         tenon predict model.tenon --compare-devices zen4.json xeon.json");
  verb->callback([&exit_code, o, verb] { exit_code = run_predict(*o, *verb); });
}

}  // namespace tenon::tools
