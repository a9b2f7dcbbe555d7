// tenon tune: measures what the planner can choose from, and keeps the fastest.
#include <fmt/core.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "base/cache_folder.h"
#include "base/count.h"
#include "base/error.h"
#include "base/shell.h"
#include "report/tuning.h"
#include "runtime/artifact.h"
#include "runtime/tuning/search.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

std::filesystem::path usual_cache() { return cache_folder() / "tuning.jsonl"; }

struct TuneVerb {
  ModelOptions model;
  std::string cache = usual_cache().string();
  std::string output, json;
  std::vector<std::string> merged;
  double budget = 60;
  bool again = false;
};

void write(const std::filesystem::path& file, std::string_view text) {
  AtomicFile out(file);
  out.write(text);
  out.commit();
}

// Lines of other devices and machines stay.
void keep(const std::filesystem::path& cache, const Tuning& tuning) {
  TemporaryFolder folder(std::filesystem::temp_directory_path());
  const std::filesystem::path found = folder.file("tuning.jsonl");
  write(found, tuning.lines());
  std::vector<std::filesystem::path> files;
  if (std::filesystem::exists(cache)) files.push_back(cache);
  files.push_back(found);
  write(cache, merged_tunings(files));
}

int merge(const TuneVerb& o, const CLI::App& verb) {
  refuse_unused(verb, "with --merge", {"--budget", "--again", "--output", "--json"});
  std::vector<std::filesystem::path> files(o.merged.begin(), o.merged.end());
  if (std::filesystem::exists(o.cache)) files.insert(files.begin(), o.cache);
  const std::string lines = merged_tunings(files);
  write(o.cache, lines);
  fmt::print("{}: {}\n", o.cache,
             counted(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')), "group"));
  return 0;
}

int tune_model(const TuneVerb& o, const CLI::App& verb) {
  if (o.cache == usual_cache()) std::filesystem::create_directories(usual_cache().parent_path());
  if (!o.merged.empty()) return merge(o, verb);
  if (o.json != "-") check_is_file(o.json);
  check_outputs_apart({o.json, o.output, o.cache});
  if (!o.output.empty()) check_writable(o.output);
  Progress progress;
  Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  if (!o.output.empty() && model.is_source())
    throw error("a source is no artifact that could hold what is found")
        .at("--output")
        .hint(fmt::format("convert it first: tenon convert {}", path_in_shell(o.model.path)));
  const Device& device = o.model.on.device();
  Tuning tuning(device, o.model.threads);
  if (std::filesystem::exists(o.cache)) tuning.read(std::filesystem::path(o.cache));
  const std::vector<Tensor> inputs = o.model.values(model);
  const TuneReport report =
      tune(model.graph, inputs, device, o.model.threads, tuning,
           {.seconds = o.budget, .again = o.again, .progress = [&](const std::string& what) {
              progress.say("tuning: " + what);
            }});
  progress.say("");
  keep(o.cache, tuning);
  if (!o.output.empty()) {
    model.metadata[tuning_fact] = tuning.lines();
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
      "tune", "Measure the kernels that the planner can choose from, and keep the fastest");
  auto o = std::make_shared<TuneVerb>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->get_option("model")->required(false);
  verb->remove_option(verb->get_option("--tuning"));
  verb->add_option("--budget", o->budget, "Seconds to measure for")
      ->capture_default_str()
      ->check(number_from(1));
  verb->add_option("--cache", o->cache, "Where measured choices are kept, of all models and devices")
      ->capture_default_str()
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
