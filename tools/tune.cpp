// tenon tune: measures what the planner can choose from, and keeps the fastest.
#include <fmt/core.h>

#include <filesystem>

#include "base/append_file.h"
#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/count.h"
#include "base/environment.h"
#include "base/folder_lock.h"
#include "base/shell.h"
#include "report/tuning.h"
#include "runtime/artifact.h"
#include "runtime/cost/record.h"
#include "runtime/tuning/search.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/this_machine.h"
#include "tools/usage.h"
#include "tools/verbs.h"
#include "verify/outputs.h"

namespace tenon::tools {
namespace {

struct TuneVerb {
  ModelOptions model;
  std::string cache;  // empty: the usual one
  std::string output, json, records;
  std::vector<std::string> merged;
  double budget = 60;
  bool again = false;
};

// The cache that is used where none is named; its folder is made.
std::string usual_cache() {
  const std::filesystem::path folder = cache_folder();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (folder.empty())
    throw environment_error("no folder for a cache is known: HOME and XDG_CACHE_HOME are not set")
        .at("tenon tune")
        .hint("name a file: --cache FILE");
  if (failed)
    throw environment_error("the folder of the cache cannot be made: {}", failed.message())
        .at(folder.string())
        .hint("name a file: --cache FILE");
  return (folder / "tuning.jsonl").string();
}

std::vector<TuningLines> lines_of(const std::string& cache) {
  if (!std::filesystem::exists(cache)) return {};
  return {read_tuning(cache)};
}

// Puts what the function makes of the cache's lines in their place. No other process does so meanwhile.
template <class F>
std::string replace_lines(const std::string& cache, F&& made_of) {
  const FolderLock lock(cache);
  const std::string lines = made_of(lines_of(cache));
  AtomicFile out(cache);
  out.write(lines);
  out.commit();
  return lines;
}

// What is found, among lines of other devices and machines.
std::string added(std::vector<TuningLines> kept, const Tuning& found) {
  kept.push_back({found.lines(), "what was found"});
  return merged_tunings(kept);
}

int merge(TuneVerb o, const CLI::App& verb) {
  refuse_unused(verb, "with --merge",
                {"model", "--budget", "--again", "--output", "--json", "--contribute", "--device",
                 "--threads", "--shape"});
  if (o.cache.empty()) o.cache = usual_cache();
  const std::string lines = replace_lines(o.cache, [&](std::vector<TuningLines> all) {
    for (const std::string& file : o.merged) all.push_back(read_tuning(file));
    return merged_tunings(all);
  });
  fmt::print("{}: {}\n", o.cache,
             counted(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')), "group"));
  return 0;
}

// Steps that ran by their kernels' own rules, since features say nothing of schedules; the run as a whole,
// which comes first, only where all did.
std::string records_of(const Plan& plan, const RunSamples& samples, const MachineDescription& machine,
                       int threads) {
  std::vector<StepFeatures> features = features_of(plan);
  std::vector<MeasuredStep> steps;
  for (std::size_t i = 0; i < features.size(); ++i)
    if (plan.steps[i]->schedule == Schedule{}) steps.push_back({std::move(features[i]), samples.step_ms[i]});
  const std::string lines = record_lines(steps, samples.total_ms, machine, threads);
  return steps.size() == features.size() ? lines : lines.substr(lines.find('\n') + 1);
}

int tune_model(TuneVerb o, const CLI::App& verb) {
  if (!o.merged.empty()) return merge(o, verb);
  if (o.json != "-") check_is_file(o.json);
  check_outputs_apart({o.json, o.output, o.cache, o.records});
  if (!o.records.empty()) check_writable(o.records), check_takes_records(o.records);
  if (!o.cache.empty()) check_writable(o.cache);
  if (!o.output.empty() && !o.output.ends_with(".tenon"))
    throw error("'{}' is no name for an artifact", o.output).at("--output").hint("end it in .tenon");
  if (!o.output.empty()) check_writable(o.output);
  Progress progress;
  Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  if (!o.output.empty() && model.is_source())
    throw error("a source is no artifact that could hold what is found")
        .at("--output")
        .hint(fmt::format("convert it first: tenon convert {}", path_in_shell(o.model.path)));
  if (o.cache.empty()) {
    o.cache = usual_cache();
    check_outputs_apart({o.json, o.output, o.cache, o.records});
  }
  const Device& device = o.model.on.device();
  Tuning tuning(device, o.model.threads);
  std::string& held = model.metadata[tuning_fact];
  tuning.read(held, o.model.path);
  if (std::filesystem::exists(o.cache)) tuning.read(std::filesystem::path(o.cache));
  const std::vector<Tensor> inputs = o.model.values(model);
  const auto agrees = [&](const std::vector<Tensor>& outputs, const std::vector<Tensor>& expected) {
    const auto checks = check_outputs(*model.graph, outputs, expected, usual_tolerance(model, device));
    return std::all_of(checks.begin(), checks.end(), [](const OutputCheck& c) { return c.ok; });
  };
  TuneOptions options{.seconds = o.budget,
                      .again = o.again,
                      .progress = [&](const std::string& what) { progress.say("tuning: " + what); },
                      .agrees = agrees};
  const int threads = o.model.threads;
  std::optional<MachineDescription> machine;
  if (!o.records.empty()) {
    machine = this_machine(device, std::span(&threads, 1));
    options.record = [&](const Plan& plan, const RunSamples& samples) {
      append_to_file(o.records, records_of(plan, samples, *machine, threads));
    };
  }
  Tuning found(device, threads);
  options.keep = [&](const Tuning& so_far) {
    found = so_far;
    replace_lines(o.cache, [&](std::vector<TuningLines> kept) { return added(std::move(kept), found); });
  };
  const TuneReport report = tune(model.graph, inputs, device, threads, tuning, options);
  progress.say("");
  if (!o.output.empty()) {
    held = added({{held, o.model.path}}, found);
    save_artifact({model.graph, model.goldens, model.metadata}, o.output);
  }
  if (o.json != "-") fmt::print("{}", text_of(report));
  if (!o.json.empty()) write_text(o.json, to_json(report).dump(2) + "\n");
  if (o.json != "-")
    fmt::print("{}\n", o.output.empty()
                           ? fmt::format("kept in {}: use it with --tuning {}", o.cache, in_shell(o.cache))
                           : fmt::format("kept in {} and {}", o.output, o.cache));
  return 0;
}

}  // namespace

void add_tune(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "tune", "Measure the kernels, schedules and splits that plans can have, and keep the fastest");
  auto o = std::make_shared<TuneVerb>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->get_option("model")->required(false);
  verb->remove_option(verb->get_option("--tuning"));
  verb->remove_option(verb->get_option("--weights-memory"));
  verb->add_option("--budget", o->budget, "Seconds to measure for")
      ->capture_default_str()
      ->check(number_from(1));
  verb->add_option("--cache", o->cache, "Where measured choices are kept, of all models and devices")
      ->default_str("~/.cache/tenon/tuning.jsonl")
      ->type_name(file_written)
      ->check(not_empty());
  verb->add_flag("-r,--again", o->again, "Measure anew what the cache holds");
  verb->add_option("-o,--output", o->output, "Write the artifact with its choices inside")
      ->type_name(file_written)
      ->check(not_empty());
  verb->add_option("--merge", o->merged, "Add other caches to this one, and measure nothing")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verb->add_option("--json", o->json, "Write what was measured (-: to standard output, without the text)")
      ->type_name(file_written);
  verb->add_option(
          "--contribute", o->records,
          "Append what was measured of each step to a file of records, from which cost models are made")
      ->type_name(file_written)
      ->check(not_empty());
  verb->footer(
      "Example: tenon tune resnet50.tenon --budget 30 -o tuned.tenon\n"
      "         tenon tune --merge other.jsonl --cache tuning.jsonl");
  verb->callback([&exit_code, o, verb] {
    if (o->merged.empty() && o->model.path.empty())
      throw error("no model is named").at("tenon tune").hint("tenon tune model.tenon");
    exit_code = tune_model(*o, *verb);
  });
}

}  // namespace tenon::tools
