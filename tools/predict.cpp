// tenon predict: what a model will take, without running it.
#include <fmt/core.h>

#include <filesystem>

#include "ir/bind.h"
#include "report/prediction.h"
#include "runtime/cost/record.h"
#include "tools/isa_option.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

struct PredictVerb {
  ModelOptions model;
  IsaOption isa;
  std::string json, records, by = "step";
  std::size_t top = 15;
  int depth = 0;
};

/// What --device names, if it is the description of a device, is the machine; the device is of its kind.
std::optional<MachineDescription> described(PredictVerb& o) {
  std::string& name = o.model.on.choice.name;
  if (!name.ends_with(".json") && !std::filesystem::is_regular_file(name)) return std::nullopt;
  MachineDescription machine = load_machine(name);
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

int run_predict(PredictVerb o, const CLI::App& verb) {
  if (o.by != "module") refuse_unused(verb, "without --by module", {"--depth"});
  std::optional<MachineDescription> machine = described(o);
  if (machine) refuse_unused(verb, "where a file describes the device", {"--isa"});
  const Device& device = o.model.on.device();
  if (!device.shares_memory)
    throw error("there is no cost model of {} yet", device.name)
        .at("--device")
        .hint("predict for a CPU; tenon profile --device " + device.name + " measures it");
  const bool is_elsewhere = machine.has_value();
  if (is_elsewhere) static_cast<void>(machine->of(o.model.threads));
  const auto forced = machine ? isa_of(*machine).force(device) : o.isa.force(device);
  Progress progress;
  if (!machine) {
    progress.say("measuring what this machine can do (once)");
    machine = describe_machine(device, RooflineCache(), std::span(&o.model.threads, 1));
  }
  std::map<std::string, double> measured;
  if (!o.records.empty()) measured = measured_steps(o.records, *machine, o.model.threads);
  const Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  SessionOptions options = o.model.session_options(model);
  if (is_elsewhere) options.choose = least_estimate;  // what was tuned was tuned here
  Session session(model.graph, std::move(options));
  const std::vector<Tensor> inputs = o.model.values(model);
  progress.say("planning");
  const auto plan = session.plan_for(inputs);
  progress.say("");
  const PredictionReport report = prediction_report(model, *plan, bind_inputs(session.graph(), inputs),
                                                    *machine, o.model.threads, measured);
  if (o.json != "-")
    fmt::print("{}", o.by == "module" ? modules_text(report, o.top, o.depth) : steps_text(report, o.top));
  if (!o.json.empty())
    write_text(o.json,
               to_json(report).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
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
                   "Steps that were measured on this device go before the model (tenon profile --contribute)")
      ->type_name("FILE")
      ->check(not_empty());
  verb->add_option("--by", o->by, "What a line of the table is: step or module")
      ->check(CLI::IsMember({"step", "module"}))
      ->type_name("WHAT")
      ->capture_default_str();
  verb->add_option("--depth", o->depth, "Names of a module path for --by module (0: all)")
      ->capture_default_str()
      ->check(integer_from(0));
  verb->add_option("--top", o->top, "Lines of the table (0: all)")
      ->capture_default_str()
      ->check(integer_from(0));
  verb->add_option("--json", o->json, "Write it as JSON (-: to standard output, without the text)")
      ->type_name(file_written);
  verb->footer(
      "Example: tenon predict model.tenon --device zen4.json --shape N=8\n"
      "         tenon predict resnet50.pt2 --threads 2 --by module --depth 1");
  verb->callback([&exit_code, o, verb] { exit_code = run_predict(*o, *verb); });
}

}  // namespace tenon::tools
