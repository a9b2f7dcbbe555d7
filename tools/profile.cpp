// tenon profile: where the time goes, and whether it has become slower.
#include <fmt/core.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "base/append_file.h"
#include "base/count.h"
#include "base/shell.h"
#include "ir/bind.h"
#include "ir/hint.h"
#include "report/compare_runs.h"
#include "report/html.h"
#include "report/profile_json.h"
#include "report/profile_text.h"
#include "report/summary.h"
#include "report/trace.h"
#include "report/unfused.h"
#include "runtime/cost/record.h"
#include "runtime/throughput.h"
#include "tools/isa_option.h"
#include "tools/model_options.h"
#include "tools/model_path.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/this_machine.h"
#include "tools/times_option.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

struct ProfileVerb {
  ModelOptions model;
  std::string other, versus, stored, json, trace, html, records;
  IsaOption isa;
  ProfileOptions runs;
  TextOptions text;
  TimesOption times;
  double max_slowdown = 0;
  bool unfused = false, no_roofline = false;
  std::vector<int> streams;

  bool compares_sides() const { return !other.empty() || !versus.empty(); }
};

constexpr auto replace = nlohmann::ordered_json::error_handler_t::replace;

std::vector<std::string> command_line() {
  std::ifstream in("/proc/self/cmdline");
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  return words;
}

std::size_t columns_of_terminal() {
  winsize size{};
  const bool known =
      isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 100;
  return known ? size.ws_col : 100;
}

std::optional<Peak> roofline(const ProfileVerb& o, Progress& progress) {
  if (o.no_roofline) return std::nullopt;
  const RooflineCache cache;
  const Device& device = o.model.on.device();
  const int threads = o.model.threads;
  const auto kept = cache.find(device, threads);
  if (kept && !cache.is_disturbed(device, threads) && !cache.lacks_rates(device, threads)) return kept;
  progress.say("measuring what this machine can do");
  return measured_peak(cache, device, threads);
}

/// Every combination of the sizes given: options with one size for each symbol.
std::vector<ModelOptions> swept(const ModelOptions& options) {
  std::vector<ModelOptions> all{options};
  all[0].sizes.clear();
  for (const auto& [symbol, list] : parse_sizes(options.sizes)) {
    std::vector<ModelOptions> next;
    for (const ModelOptions& o : all)
      for (const std::int64_t size : list) {
        next.push_back(o);
        next.back().sizes.push_back(fmt::format("{}={}", symbol, size));
      }
    all = std::move(next);
  }
  return all;
}

ProfileReport measure(const ProfileVerb& o, const Model& model, const std::optional<Peak>& peak,
                      Progress& progress) {
  Session session(model.graph, o.model.session_options(model));
  const std::vector<ModelOptions> sweep = swept(o.model);
  const auto profile_at = [&](const ModelOptions& at) {
    progress.say("profiling " + fmt::format("{}", fmt::join(at.sizes, " ")));
    return profile_report(model, session, at.values(model), o.runs, peak);
  };
  ProfileReport report = profile_at(sweep.front());
  report.command = command_line();
  if (const Device& device = o.model.on.device(); peak && device.shares_memory)
    put_predictions(report, this_machine(device, std::span(&report.threads, 1)));
  if (o.unfused) {
    progress.say("running it unfused and fused by turns");
    report.unfused = measure_unfused(model, session, sweep.front().values(model));
  }
  if (!o.streams.empty()) {
    progress.say("running it several times at once");
    report.streams = throughput(session, sweep.front().values(model), o.streams);
  }
  if (sweep.size() > 1) report.sweep.push_back(report.run);
  for (std::size_t i = 1; i < sweep.size(); ++i) report.sweep.push_back(profile_at(sweep[i]).run);
  return report;
}

/// The options of the other side: the same, but for another model or what --vs says.
ModelOptions other_side(const ProfileVerb& o) {
  ModelOptions other = o.model;
  if (!o.other.empty()) other.path = o.other;
  if (o.versus.empty()) return other;
  CLI::App parser("options of --vs");
  parser.set_help_flag();
  const std::string path = other.path;
  other.add_model(parser);
  other.add_run(parser);
  parser.get_option("model")->required(false);
  try {
    parser.parse(o.versus);
  } catch (const CLI::ParseError& e) { throw error("{}", e.what()).at("--vs=" + o.versus); }
  if (parser.count("model") > 0)
    throw error("this is no option: '{}'", other.path)
        .at("--vs=" + o.versus)
        .hint("name the other model before the options");
  other.path = path;
  return other;
}

/// In any order: "[1,3,224,224], [8]".
std::string sizes_of(const CompareSide& side) {
  std::vector<std::string> sizes;
  for (const Tensor& t : side.inputs) sizes.push_back(str(to_shape(t.shape())));
  std::sort(sizes.begin(), sizes.end());
  return fmt::format("{}", fmt::join(sizes, ", "));
}

/// The sizes at which the model takes what the other side takes; nullopt: none.
std::optional<Bindings> sizes_for(const Graph& graph, const CompareSide& other) {
  std::vector<Index> shapes;
  for (const Tensor& t : other.inputs) shapes.push_back(t.shape());
  try {
    return bind_symbols(graph, shapes);
  } catch (const Error&) { return std::nullopt; }
}

std::string same_sizes_hint(const CompareSide& a, const CompareSide& b, bool a_is_chosen) {
  const auto of_a = sizes_for(*a.graph, b), of_b = sizes_for(*b.graph, a);
  const bool has_a = of_a && !of_a->empty(), has_b = of_b && !of_b->empty();
  if (has_b && (a_is_chosen || !has_a)) return "choose the same sizes: --vs=" + in_shell(hint::shape(*of_b));
  if (has_a) return "choose the same sizes: " + hint::shape(*of_a);
  return "convert both with inputs of the same sizes (--input)";
}

/// Two models are compared at the same sizes, unless --vs says otherwise.
void check_sizes(const CompareSide& a, const CompareSide& b, bool a_is_chosen) {
  const std::string sizes_a = sizes_of(a), sizes_b = sizes_of(b);
  if (sizes_a != sizes_b)
    throw error("the models would run at other sizes: {}; and {}", sizes_a, sizes_b)
        .at(b.label)
        .hint(same_sizes_hint(a, b, a_is_chosen));
}

/// A model and the options that it was opened with.
struct Side {
  ModelOptions options;
  Model model;
};

Comparison compare_sides(const ProfileVerb& o, const Model& before, const Side& other, Progress& progress) {
  ModelOptions options = other.options;
  const Model& after = other.model;
  if (options.sizes == o.model.sizes) options.keep_sizes_of(*after.graph);
  const auto side = [](std::string label, const ModelOptions& m, const Model& model) {
    return CompareSide{std::move(label), model.graph, m.values(model), m.session_options(model)};
  };
  const CompareSide first = side(o.model.path, o.model, before),
                    second = side(options.path + (o.versus.empty() ? "" : " " + o.versus), options, after);
  if (o.versus.empty()) check_sizes(first, second, !o.model.sizes.empty());
  progress.say("running both by turns");
  CompareOptions limits;
  if (o.max_slowdown > 0) limits.max_slowdown = o.max_slowdown;
  return compare_running(first, second, {.warmup = o.runs.warmup, .blocks = std::max(o.runs.iterations, 12)},
                         limits);
}

/// Before minutes of work: whether times taken here and now, of this model at its first sizes, say something
/// beside the stored ones.
void check_stored(const ProfileVerb& o, const Model& model) {
  const Recording before = load_recording(o.stored);
  const Device& device = o.model.on.device();
  if (before.device != device.name)
    throw error("the stored profile is of the device {}, this one of {}", before.device, device.name)
        .at(o.stored)
        .hint("give --device " + in_shell(before.device));
  if (before.threads != o.model.threads)
    throw error("the stored profile is of {}, this one of {}", counted(before.threads, "thread"),
                o.model.threads)
        .at(o.stored)
        .hint(fmt::format("give --threads {}", before.threads));
  const MachineInfo here = machine_info(device);
  const std::string machine = machine_name(here.cpu, here.isa);
  if (before.machine != machine)
    throw error("the stored profile is of another machine, {}: this is {}", before.machine, machine)
        .at(o.stored)
        .hint("store one on this machine, or compare two models by turns: tenon profile OLD NEW");
  const MeasuredInputs now = measured(*model.graph, swept(o.model).front().values(model));
  if (!same_sizes(before.inputs, now))
    throw error("the stored profile is of {}, this one of {}", str(before.inputs), str(now))
        .at(o.stored)
        .hint("profile at the same sizes (--shape, --input)");
}

Comparison compare_with_stored(const ProfileVerb& o, const ProfileReport& now) {
  CompareOptions limits;
  if (o.max_slowdown > 0) limits.max_slowdown = o.max_slowdown;
  return compare_stored(load_recording(o.stored), recording_of(now), limits);
}

/// Of the first sizes, as all that a profile says step by step.
std::string page(const ProfileVerb& o, const Model& model, const ProfileReport& report) {
  Session session(model.graph, o.model.session_options(model));
  const ModelSummary summary = summarize(model, session, swept(o.model).front().values(model));
  return html(to_json(model, summary), to_json(report));
}

void contribute(const ProfileVerb& o, const ProfileReport& report) {
  const int threads = report.threads;
  const MachineDescription machine = this_machine(o.model.on.device(), std::span(&threads, 1));
  std::vector<MeasuredStep> steps;
  for (const StepRow& row : report.steps) steps.push_back({row.features, row.samples_ms});
  append_to_file(o.records, record_lines(steps, report.run.samples_ms, machine, threads));
}

/// "1,2,4"
std::vector<int> stream_counts(std::string_view list) {
  constexpr int most = 1024;
  std::vector<int> counts;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view word = list.substr(begin, end - begin);
    int count = 0;
    const auto [after, error_code] = std::from_chars(word.data(), word.data() + word.size(), count);
    if (error_code != std::errc() || after != word.data() + word.size() || count < 1 || count > most)
      throw error("'{}' is no number of streams from 1 to {}", word, most)
          .at("--streams " + in_shell(std::string(list)));
    counts.push_back(count);
    begin = end + 1;
  }
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

/// Before minutes of work.
void check_options(const ProfileVerb& o) {
  if (!o.stored.empty()) load_recording(o.stored);
  if (!o.records.empty()) check_takes_records(o.records);
  if (o.max_slowdown > 0 && !o.compares_sides() && o.stored.empty())
    throw error("there is nothing to compare with")
        .at("--max-slowdown")
        .hint("name a second model, or give --vs=\"OPTIONS\" or --compare old.json");
  if (o.compares_sides() && swept(o.model).size() > 1)
    throw error("two models are compared at one size").at("--shape").hint("give each symbol one size");
  if (!o.streams.empty() && o.model.threads > 1)
    throw error("each of several runs at once has one thread").at("--streams").hint("leave --threads out");
  if (!o.streams.empty() && o.compares_sides())
    throw error("several runs at once are of one model").at("--streams").hint("profile each model alone");
  if (!o.streams.empty() && swept(o.model).size() > 1)
    throw error("several runs at once are of one size").at("--shape").hint("give each symbol one size");
  if (o.runs.undisturbed > 0 && (o.unfused || !o.streams.empty() || swept(o.model).size() > 1))
    throw error("disturbed runs are left out of one profile at one size")
        .at("--undisturbed")
        .hint("leave out --unfused and --streams, and give each symbol one size");
  if (o.runs.undisturbed > 0 && !o.model.on.device().shares_memory)
    throw error("disturbed runs are known of CPUs alone").at("--undisturbed").hint("leave it out");
  if (o.unfused && o.model.no_fuse)
    throw error("--unfused shows the fused model beside the unfused one: --no-fuse leaves nothing to show");
}

int run_profile(const ProfileVerb& o, const CLI::App& verb) {
  const auto forced = o.isa.force(o.model.on.device());
  o.times.check(verb);
  if (o.compares_sides()) refuse_unused(verb, "where two are compared", {"--by", "--undisturbed"});
  check_options(o);
  Progress progress;
  const auto say = [&](std::string_view what) { progress.say(what); };
  const bool sides = o.compares_sides();
  ModelOptions first = o.model, second = other_side(o);
  share_weights(first, second);
  first.others_take = second.others_take = sides && first.inputs == second.inputs;
  const Model model = first.open(say);
  if (o.unfused && !model.is_source())
    throw error("an artifact holds the fused graph only")
        .at(o.model.path)
        .hint("give the source model for --unfused");
  std::optional<Side> other;
  if (sides) other = Side{second, second.open(say)};
  if (first.others_take) first.check_taken({&model, &other->model});
  if (!o.stored.empty()) check_stored(o, model);
  ProfileReport report = measure(o, model, roofline(o, progress), progress);
  if (sides) report.comparison = compare_sides(o, model, *other, progress);
  if (!o.stored.empty()) report.comparison = compare_with_stored(o, report);
  progress.say("");
  TextOptions text = o.text;
  text.by = o.times.by;
  text.depth = o.times.depth;
  text.width = columns_of_terminal();
  if (o.json != "-" && o.trace != "-" && o.html != "-")
    fmt::print("{}", sides ? to_text(*report.comparison, text) : to_text(report, text));
  if (!o.json.empty()) write_text(o.json, to_json(report).dump(2, ' ', false, replace) + "\n");
  if (!o.records.empty()) contribute(o, report);
  if (!o.trace.empty()) write_text(o.trace, to_trace(report).dump(-1, ' ', false, replace) + "\n");
  if (!o.html.empty()) write_text(o.html, page(o, model, report));
  const bool regression = o.max_slowdown > 0 && report.comparison && report.comparison->slower();
  return static_cast<int>(regression ? Exit::differs : Exit::done);
}

}  // namespace

void add_profile(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("profile", "Time a model, step by step and module by module; compare two");
  auto o = std::make_shared<ProfileVerb>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->get_option("--shape")->description(
      "Sizes of symbols: N=8; several (N=1,8,32) are run one after another");
  auto* other =
      verb->add_option("other", o->other, "A second model, run by turns with the first")->check(model_path());
  auto* versus =
      verb->add_option("--vs", o->versus, "Compare with these options: --vs=\"--threads 2\", --vs=--no-fuse")
          ->type_name("OPTIONS")
          ->check(not_empty());
  verb->add_option("--compare", o->stored, "Compare with a profile that --json wrote")
      ->type_name("FILE")
      ->excludes(other)
      ->excludes(versus)
      ->check(not_empty());
  verb->add_option("--max-slowdown", o->max_slowdown,
                   "Exit with 1 when the total or a step takes more than this many times as long as before")
      ->check(number_from(1));
  verb->add_option("--warmup", o->runs.warmup, "Runs before the timed ones")
      ->capture_default_str()
      ->check(integer_from(0));
  auto* iterations =
      verb->add_option("--iters", o->runs.iterations, "Timed runs (comparisons: blocks of runs)")
          ->capture_default_str()
          ->check(integer_from(1));
  verb->add_option("--seconds", o->runs.seconds, "Time runs for so long instead")
      ->check(number_from(0.001))
      ->excludes(iterations);
  verb->add_option(
          "--undisturbed", o->runs.undisturbed,
          "Leave out runs during which other programs took the machine's time, and go on for up to so "
          "many seconds until there are --iters others")
      ->type_name("SECONDS")
      ->check(number_from(0.001))
      ->excludes("--seconds");
  o->times.add(*verb);
  verb->add_option("--top", o->text.top, "Lines of the table (0: all)")
      ->capture_default_str()
      ->check(integer_from(0));
  verb->add_flag("--unfused", o->unfused, "Beside the same model without fused groups, by turns");
  verb->add_option_function<std::string>(
          "--streams", [o](const std::string& list) { o->streams = stream_counts(list); },
          "Run it at once from so many threads (1,2,4), by turns: runs a second")
      ->type_name("N,...");
  verb->add_flag("--no-roofline", o->no_roofline, "Do not measure, or use, what this machine can do at most");
  verb->add_option("--json", o->json, "Write the profile as JSON (-: to standard output, without the text)")
      ->type_name(file_written);
  verb->add_option("--trace", o->trace, "Write a trace for Perfetto or chrome://tracing")
      ->type_name(file_written);
  verb->add_option("--html", o->html,
                   "Write a page: the graph before and after fusion, steps, roofline, memory over time")
      ->type_name(file_written);
  verb->add_option(
          "--contribute", o->records,
          "Append what was measured of each step to a file of records, from which cost models are made")
      ->type_name(file_written)
      ->check(not_empty());
  o->isa.add(*verb);
  verb->footer(
      "Example: tenon profile resnet50.pt --by module --depth 1\n"
      "         tenon profile resnet50.tenon --streams 1,2,4\n"
      "         tenon profile old.tenon new.tenon --max-slowdown 1.05");
  verb->callback([&exit_code, o, verb] { exit_code = run_profile(*o, *verb); });
}

}  // namespace tenon::tools
