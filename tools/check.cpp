// tenon check: a folder of cases, as regression tests.
#include <fmt/core.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <set>

#include "base/error.h"
#include "base/input_guard.h"
#include "base/memory_limit.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "check/case_process.h"
#include "check/formats.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

struct CheckVerb {
  std::string folder, filter, update, junit, json, memory;
  DeviceOptions on{.choice = {}};
  double timeout = 300;
  int jobs = 1;
  bool list = false, fail_fast = false, annotations = false, allow_libraries = false;
  std::optional<std::uint64_t> shuffle;
};

std::vector<Case> chosen_cases(const CheckVerb& o) {
  std::vector<std::string> warnings;
  const auto warn = [&] {
    for (const std::string& w : std::exchange(warnings, {})) fmt::print(stderr, "warning: {}\n", w);
  };
  std::vector<Case> cases;
  try {
    cases = find_cases(o.folder, warnings);
  } catch (const Error&) {
    warn();
    throw;
  }
  warn();
  if (!o.filter.empty())
    std::erase_if(cases, [&](const Case& c) { return fnmatch(o.filter.c_str(), c.name.c_str(), 0) != 0; });
  if (cases.empty())
    throw error("no case's name matches '{}'", o.filter)
        .at(o.folder)
        .hint("see their names: tenon check --list " + path_in_shell(o.folder));
  if (o.shuffle) std::shuffle(cases.begin(), cases.end(), std::mt19937_64(*o.shuffle));
  return cases;
}

SuiteOptions suite_options(const CheckVerb& o) {
  SuiteOptions options{
      .jobs = o.jobs, .fail_fast = o.fail_fast, .allow_libraries = o.allow_libraries, .device = o.on.choice};
  options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(o.timeout * 1e3));
  if (!o.memory.empty()) options.memory_bytes = *parse_bytes(o.memory);
  for (const auto& [name, kind] : update_kinds) options.update.*kind = o.update == name || o.update == "all";
  return options;
}

// Lines for the cases as they end, and which ones run while they do.
class Narrator {
 public:
  Narrator(std::size_t count) : count_(count) {}

  SuiteEvents events() {
    return {.started =
                [this](const Case& c) {
                  running_.insert(c.name);
                  progress();
                },
            .ended = [this](const CaseResult& r) { ended(r); }};
  }

 private:
  void progress() {
    line_.say(running_.empty() ? "" : fmt::format("{} of {}  {}", done_, count_, fmt::join(running_, ", ")));
  }
  void ended(const CaseResult& r) {
    running_.erase(r.name);
    ++done_;
    line_.say("");
    const auto s = style(stdout);
    constexpr std::string_view words[] = {"passed ", "FAILED ", "skipped"};
    const char* colours[] = {s.green, s.red, s.dim};
    const auto status = static_cast<std::size_t>(r.status);
    fmt::print("{}{}{} {}", colours[status], words[status], s.plain, to_text(r));
    std::fflush(stdout);
    progress();
  }

  std::size_t count_, done_ = 0;
  std::set<std::string> running_;
  Progress line_;
};

bool in_github_actions() {
  const char* value = std::getenv("GITHUB_ACTIONS");
  return value && std::string_view(value) == "true";
}

int check(const CheckVerb& o, const CLI::App& verb) {
  if (o.list)
    refuse_unused(verb, "with --list", {"--update", "--fail-fast", "--junit", "--json", "--annotations"});
  const std::vector<Case> cases = chosen_cases(o);
  if (o.list) {
    for (const Case& c : cases) fmt::print("{}\n", printable(c.name));
    return 0;
  }
  for (const std::string& path : {o.junit, o.json}) check_is_file(path);
  if (!o.junit.empty() || !o.json.empty())
    for (const Case& c : cases) remember_files(c);
  if (!o.on.choice.name.empty()) o.on.device();
  const SuiteOptions options = suite_options(o);
  SuiteResult result;
  {
    Narrator narrator(cases.size());
    result = run_suite(cases, options, narrator.events());
  }
  if (!o.junit.empty()) write_text(o.junit, to_junit(result, o.folder));
  if (!o.json.empty())
    write_text(
        o.json,
        to_json(result, o.folder).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  if (o.annotations || in_github_actions()) print_commands(to_annotations(result));
  fmt::print("\n{}\n", result.summary());
  return result.ok() ? 0 : static_cast<int>(Exit::differs);
}

void add_check_case(CLI::App& app) {
  struct Arguments {
    std::string folder, name;
    DeviceChoice device{};
    std::uint64_t memory_bytes = 0;
    bool allow_libraries = false;
    std::vector<std::string> update;
  };
  auto* verb = app.add_subcommand("check-case", "One case, for check itself")->group("");
  auto a = std::make_shared<Arguments>();
  verb->add_flag("--allow-libraries", a->allow_libraries);
  verb->add_option("--device", a->device.name);
  verb->add_option("--fallback", a->device.fallback);
  verb->add_option("--precision", a->device.precision);
  verb->add_option("folder", a->folder)->required();
  verb->add_option("name", a->name)->required();
  verb->add_option("memory", a->memory_bytes)->required();
  verb->add_option("update", a->update);
  verb->callback([a] {
    guard_inputs(InputGuard::remember);  // --update records in place
    Case c = read_case(a->folder, a->name);
    if (a->memory_bytes > 0) c.settings.memory_bytes = a->memory_bytes;
    c.settings.allow_libraries = a->allow_libraries;
    for (const auto part : {&DeviceChoice::name, &DeviceChoice::fallback, &DeviceChoice::precision})
      if (!(a->device.*part).empty()) c.settings.device.*part = a->device.*part;
    Update update;
    for (const auto& [kind_name, kind] : update_kinds)
      update.*kind = std::find(a->update.begin(), a->update.end(), kind_name) != a->update.end();
    serve_case(c, update);
  });
}

}  // namespace

void add_check(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("check", "Run a folder of cases as regression tests, each in a process of its own");
  auto o = std::make_shared<CheckVerb>();
  verb->add_option("folder", o->folder, "Each folder in it with a model is a case, or itself")->required();
  verb->add_option("--update", o->update, "Record what there is now, and say what changes")
      ->expected(0, 1)
      ->default_str("all")
      ->check(CLI::IsMember({"outputs", "graph", "speed", "all"}));
  verb->add_option("-j,--jobs", o->jobs, "Cases at a time")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  o->on.add(*verb);
  verb->get_option("--device")->description("Where every case runs, whatever its case.toml says");
  verb->add_option("--filter", o->filter, "Only cases whose name matches: 'vision/*'")->type_name("GLOB");
  verb->add_flag("--list", o->list, "Print the cases' names and end");
  verb->add_flag("--fail-fast", o->fail_fast, "Start no further case after a failed one");
  verb->add_option("--shuffle", o->shuffle, "Run the cases in a random order")
      ->type_name("SEED")
      ->check(integer_from(0));
  verb->add_flag("--allow-libraries", o->allow_libraries,
                 "Load the operator libraries that cases name: code that runs with your rights");
  verb->add_option("--timeout", o->timeout, "Seconds a case may take, unless its case.toml says otherwise")
      ->capture_default_str()
      ->check(number_from(0.001));
  verb->add_option("--memory", o->memory, "The same for memory: 2GiB")
      ->type_name("BYTES")
      ->check(amount_of_memory());
  verb->add_option("--junit", o->junit, "Write JUnit XML")->type_name(file_written);
  verb->add_option("--json", o->json, "Write the results as JSON")->type_name(file_written);
  verb->add_flag("--annotations", o->annotations,
                 "Print failures as GitHub annotations too (in GitHub Actions always)");
  verb->footer("Example: tenon check cases --jobs 4 --junit check.xml");
  verb->callback([&exit_code, o, verb] { exit_code = check(*o, *verb); });
  add_check_case(app);
}

}  // namespace tenon::tools
