// tenon verify: is the result what the source model computes, and if not, where does it part?
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/count.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/utf8.h"
#include "ir/evaluate.h"
#include "pipeline/files.h"
#include "runtime/stateful_session.h"
#include "tools/model_options.h"
#include "tools/model_path.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"
#include "verify/json.h"
#include "verify/samples.h"
#include "verify/source.h"
#include "verify/verdict.h"

namespace tenon::tools {
namespace {

using nlohmann::json;

struct VerifyOptions {
  ModelOptions model;
  std::string against, source, bisect, json;
  bool properties = false;
  int samples = 0;  // 0: one, or those of a folder
  std::optional<double> share;
  std::optional<double> rtol, atol;

  /// Elementwise limits alone, where only they are given.
  Tolerance tolerance() const {
    const bool elementwise = rtol || atol;
    Tolerance t(share.value_or(elementwise ? std::numeric_limits<double>::infinity() : Tolerance().share));
    t.rtol = rtol;
    t.atol = atol;
    return t;
  }
};

// The inputs of the seed that belongs to this sample.
Sample sample_of(const VerifyOptions& o, const Model& model, int number) {
  ModelOptions options = o.model;
  options.seed += static_cast<std::uint64_t>(number) * 1000;
  return {.name = fmt::format("seed {}", options.seed), .inputs = options.values(model)};
}

// What the results are compared with.
class Reference {
 public:
  Reference(const VerifyOptions& o, const Model& model)
      : options_(o), model_(model), against_(o.against.empty() ? own_runner(model, o.source) : o.against) {
    const auto need_source = [&](const char* what, const char* hint) {
      throw error("{} needs the source model", what).at(o.model.path).hint(hint);
    };
    if (against_ == "torch") {
      if (!model.is_source() && o.source.empty())
        need_source("an artifact compared with the framework it comes from",
                    "give it: --source model.pt (.pt2, .onnx), or compare with --against reference");
      run_source(Framework::torch);
    } else if (against_ == "onnxruntime") {
      if (o.source.empty() && model.kind != FileKind::onnx)
        need_source("ONNX Runtime", "give it as ONNX: --source model.onnx");
      run_source(Framework::onnxruntime);
    } else if (against_ != "reference" && !std::filesystem::is_directory(against_)) {
      throw error("'{}' is nothing to compare with", against_)
          .at("--against")
          .hint("write torch, reference, onnxruntime, or a folder with in_0.npy, out_0.npy ...");
    }
  }

  std::vector<Sample> samples() const {
    if (std::filesystem::is_directory(against_)) return whole_samples(against_, *model_.graph);
    std::vector<Sample> samples;
    for (int s = 0; s < std::max(options_.samples, 1); ++s) samples.push_back(sample_of(options_, model_, s));
    return samples;
  }

  std::vector<Tensor> expected(const Sample& sample) const {
    if (!sample.expected.empty()) return sample.expected;
    if (source_) return source_->outputs(sample.inputs);
    return evaluate(model_.is_source() ? *model_.imported : *model_.graph, sample.inputs);
  }

  TorchRunner* torch() const { return source_ ? source_->torch() : nullptr; }
  const std::string& against() const { return against_; }
  Draws draws() const { return against_ == "reference" ? Draws::same : Draws::others; }

 private:
  static std::string own_runner(const Model& model, const std::string& source) {
    const bool is_onnx = model.kind == FileKind::onnx || source.ends_with(".onnx");
    return is_onnx ? "onnxruntime" : "torch";
  }

  void run_source(Framework framework) {
    const ModelOptions& o = options_.model;
    source_ = std::make_unique<SourceRunner>(
        framework, options_.source.empty() ? model_.path : std::filesystem::path(options_.source),
        *model_.graph, o.inputs_of(model_),
        TorchRunnerOptions{.weights = o.weights, .keep_dropout = o.train_mode == "keep"}, o.method);
  }

  const VerifyOptions& options_;
  const Model& model_;
  std::string against_;
  std::unique_ptr<SourceRunner> source_;
};

constexpr double infinity = std::numeric_limits<double>::infinity();

// What an output that differs needs said.
void explain(const std::string& sample, const OutputCheck& c) {
  fmt::print("{} {}: {}\n", sample, c.name, c.types_only ? "another type" : c.difference.str());
  if (!c.same_type()) fmt::print("  it is {}, expected is {}\n", c.type, c.expected_type);
  if (!c.difference.comparable || c.types_only) return;
  const ErrorSpread& e = c.spread;
  fmt::print("  mean error {:.3g}, {} of {} exact", e.mean, e.exact, counted(e.elements, "element"));
  if (e.infinite) fmt::print(", {} NaN or infinite on one side only", e.infinite);
  if (std::isfinite(c.needed_tolerance()))
    fmt::print("\n  needed: --tolerance {}", limit_text(c.needed_tolerance()));
  if (std::isfinite(e.needed_rtol)) fmt::print(", or --rtol {}", limit_text(e.needed_rtol));
  fmt::print("\n");
  fmt::print("{}", histogram(e, "  "));
}

void add_row(Table& table, const std::string& sample, const OutputCheck& c) {
  const Difference& d = c.difference;
  if (!d.comparable || c.types_only || (c.ok && d.compared == 0)) {
    table.add({sample, c.name, "", "", "", "", "", word(c)});
    return;
  }
  table.add({sample, c.name, fmt::format("{:.3g}", d.max_error), fmt::format("{:.3g}", d.relative()),
             fmt::format("{:.3g}", c.spread.mean), fmt::format("{:.9f}", d.cosine),
             fmt::format("[{}]", fmt::join(d.worst, ",")), word(c)});
}

json compare_samples(const VerifyOptions& o, const Model& model, const Reference& reference, Verdict& verdict,
                     std::vector<Inputs>& failed, std::vector<Inputs>& all, Progress& progress) {
  Session session(model.graph, o.model.session_options(model));
  StatefulSession stateful(session);
  Table table({"sample", "output", "max error", "relative", "mean error", "cosine", "worst at", ""});
  json records = json::array();
  std::vector<std::pair<std::string, OutputCheck>> wrong;
  double needed = 0;
  std::vector<std::string> notes;
  for (Sample& sample : reference.samples()) {
    progress.say("comparing " + sample.name);
    notes.insert(notes.end(), sample.notes.begin(), sample.notes.end());
    sample.inputs = stateful.with_states(std::move(sample.inputs));
    const std::vector<Tensor> expected = reference.expected(sample);
    const auto checks =
        check_outputs(*model.graph, stateful.run(sample.inputs), expected, o.tolerance(), reference.draws());
    verdict.add(checks);
    for (const OutputCheck& c : checks) {
      add_row(table, sample.name, c);
      if (!c.types_only) needed = std::max(needed, c.same_type() ? c.needed_tolerance() : infinity);
      if (!c.ok) wrong.emplace_back(sample.name, c);
      records.push_back(to_json(c));
      records.back()["sample"] = sample.name;
    }
    all.push_back(sample.inputs);
    if (std::any_of(checks.begin(), checks.end(), [](const OutputCheck& c) { return !c.ok; }))
      failed.push_back(sample.inputs);
  }
  progress.say("");
  fmt::print("{}", table.str());
  for (const auto& [sample, check] : wrong) explain(sample, check);
  for (std::string& note : verdict.notes()) notes.push_back(std::move(note));
  for (const std::string& note : notes) fmt::print("note: {}\n", note);
  if (std::isfinite(needed) && verdict.problem().empty() && verdict.compared_numbers())
    fmt::print("least tolerance that passes: {}\n", limit_text(needed));
  return records;
}

void print_divergence(const Divergence& d) {
  fmt::print("  {}\n", d.what);
  if (!d.location.empty()) fmt::print("  at: {}\n", d.location);
  fmt::print("  {}\n", d.str());
}

json bisect_values(const VerifyOptions& o, const Model& model, const Reference& reference,
                   const std::vector<Inputs>& samples, Progress& progress) {
  const Bisection found = bisect(model, samples,
                                 {.tolerance = o.tolerance(),
                                  .method = o.model.method,
                                  .torch = reference.torch(),
                                  .device = o.model.on.device(),
                                  .threads = o.model.threads,
                                  .progress = [&](std::string_view what) { progress.say(what); }});
  progress.say("");
  json largest = json::array();
  for (const Divergence& d : found.largest) largest.push_back(to_json(d));
  if (found) {
    fmt::print("first difference: {}\n", name(found->stage));
    print_divergence(*found.first);
    for (const std::string& node : found->replaced) fmt::print("  stands for: {}\n", node);
    return {{"first", to_json(*found.first)}, {"largest", largest}};
  }
  fmt::print("no node differs by more than the tolerance and rounding\n");
  if (found.silent) {
    fmt::print("the first value of which nothing can be compared:\n");
    print_divergence(*found.silent);
  }
  for (const Divergence& d : found.largest)
    if (d.difference.max_error > 0) {
      fmt::print("largest difference in {}:\n", name(d.stage));
      print_divergence(d);
    }
  return {{"first", nullptr},
          {"largest", largest},
          {"not_compared", found.silent ? to_json(*found.silent) : json()}};
}

json bisect_rewrites(const VerifyOptions& o, const Model& model, const std::vector<Inputs>& samples,
                     Progress& progress) {
  if (!model.is_source())
    throw error("an artifact is fused already: its rewrites cannot be bisected")
        .at(o.model.path)
        .hint("give the source model");
  progress.say("bisecting the rewrites");
  const RewriteSearch found = search_rewrites({.imported = *model.imported,
                                               .options = o.model.open_options().fuse,
                                               .device = o.model.on.device(),
                                               .threads = o.model.threads},
                                              samples, o.tolerance());
  progress.say("");
  if (found.without_any)
    fmt::print("the result differs before the first rewrite: {}\n  find the node: --bisect=values\n",
               found.without_any->str());
  if (!found.problem.empty())
    fmt::print("whether a rewrite changes the result cannot be told: {}\n", found.problem);
  else if (!found.wrong && !found.without_any)
    fmt::print("no rewrite changes the result\n");
  if (found.wrong) {
    const WrongRewrite& w = *found.wrong;
    fmt::print("the result changes with {}\n", w.str());
    if (!w.rewrite.location.empty()) fmt::print("  at: {}\n", w.rewrite.location);
    fmt::print("  with it: {}\n  before it: {}\n", w.difference.str(), w.before.str());
    fmt::print("  with --off {}: {} ({})\n", w.rewrite.rule,
               w.right_when_off ? "right" : "still different, so another rewrite is wrong as well",
               w.off.str());
  }
  return to_json(found);
}

bool check_properties_of(const VerifyOptions& o, const Model& model, json& record, Progress& progress) {
  std::vector<Inputs> samples;
  for (int s = 0; s < std::max(o.samples, 5); ++s) samples.push_back(sample_of(o, model, s).inputs);
  progress.say("checking properties");
  const auto found = check_properties(
      *model.graph, model.is_source() ? *model.imported : *model.graph, samples,
      {.tolerance = o.tolerance(), .threads = std::max(2, o.model.threads), .device = o.model.on.device()});
  progress.say("");
  Table table({"property", "", "relative"});
  bool ok = true;
  record = json::array();
  for (const Property& p : found) {
    table.add({p.name, std::string(name(p.outcome)),
               p.outcome == Property::Outcome::not_applicable
                   ? p.detail
                   : fmt::format("{:.3g}", p.difference.relative())});
    ok = ok && p.ok();
    record.push_back(to_json(p));
  }
  fmt::print("{}", table.str());
  for (const Property& p : found)
    if (!p.ok()) fmt::print("{}: {}\n", p.name, p.detail);
  return ok;
}

// The source that an artifact was made from, where it lies beside it.
std::string recorded_source(const Model& model) {
  const auto source = model.metadata.find("source");
  if (model.is_source() || source == model.metadata.end()) return "";
  const auto file = model.path.parent_path() / std::filesystem::path(source->second).filename();
  return std::filesystem::exists(file) ? file.string() : "";
}

// TorchScript says no types: they are those of the folder that it is compared with.
std::vector<InputSpec> types_of_samples(const VerifyOptions& o) {
  if (!std::filesystem::is_directory(o.against) ||
      detect_format(MappedFile::open(o.model.path)->bytes()).kind != FileKind::torchscript)
    return {};
  const auto samples = read_samples(o.against, {});
  return samples.empty() ? std::vector<InputSpec>() : input_specs(samples.front());
}

// What the source is not asked, or the samples of a folder are not made of.
void check_used(const VerifyOptions& o, const Model& model, const CLI::App& verb) {
  const bool is_folder = std::filesystem::is_directory(o.against);
  const std::string use = o.properties               ? "with --properties"
                          : is_folder                ? "with --against FOLDER"
                          : o.against == "reference" ? "with --against reference"
                                                     : "";
  if (use.empty()) return;
  refuse_unused(verb, use, {"--source"});
  if (!model.is_source()) refuse_unused(verb, use, {"--weights-from"});
  if (!is_folder) return;
  refuse_unused(verb, use, {"--samples"});
  const auto empty_sizes = o.model.open_options().convert.symbols;  // these are the conversion's
  if (!model.is_source()) refuse_unused(verb, use, {"--input"});
  if (!model.is_source() || empty_sizes.empty()) refuse_unused(verb, use, {"--shape"});
}

int verify(const VerifyOptions& asked, const CLI::App& verb) {
  VerifyOptions o = asked;
  check_is_file(o.json);
  if (std::filesystem::is_directory(o.against)) remember_samples(o.against);
  Progress progress;
  o.model.of_source = true;
  o.model.sample_inputs = types_of_samples(o);
  const Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  const bool needs_source = o.against.empty() || o.against == "torch" || o.against == "onnxruntime";
  // The reference of an artifact has its weights, that of a source has the source's.
  const Precision precision = precision_of(model);
  const bool differs_from_reference =
      precision != Precision::kept && (model.is_source() || !is_of_weights(precision));
  const Device& device = o.model.on.device();
  if (!o.share && !o.rtol && !o.atol && !o.properties &&
      (o.against != "reference" || differs_from_reference || device.takes_tf32))
    o.share = usual_tolerance(model, device);
  check_used(o, model, verb);
  if (o.source.empty() && needs_source && !o.properties) o.source = recorded_source(model);
  if (asked.source.empty() && !o.source.empty()) {
    remember_model(o.source);
    fmt::print("note: compared with {}, from which it was converted\n", printable(o.source));
  }
  o.model.of_source = !model.is_source() && !o.source.empty();
  o.model.check_taken({&model});
  if (!model.is_source() && !o.model.weights.empty() &&
      !(o.model.of_source && ModelOptions::takes_weights(o.source)))
    throw error("weights beside a model are read for .pt2 files")
        .at("--weights-from " + o.model.weights)
        .hint("name the .pt2 that the artifact was made of: --source model.pt2");
  json record = {{"model", o.model.path}};
  bool ok = true;
  std::string problem, word;
  if (o.properties) {
    ok = check_properties_of(o, model, record["properties"], progress);
    word = ok ? "verified" : "DIFFERS";
  } else {
    const Reference reference(o, model);
    std::vector<Inputs> failed, all;
    Verdict verdict;
    record["against"] = reference.against();
    record["outputs"] = compare_samples(o, model, reference, verdict, failed, all, progress);
    ok = verdict.verified();
    problem = verdict.differs() ? "" : verdict.problem();
    word = verdict.str();
    if (o.bisect == "values")
      record["bisect"] = bisect_values(o, model, reference, failed.empty() ? all : failed, progress);
    if (o.bisect == "rewrites")
      record["bisect_rewrites"] = bisect_rewrites(o, model, failed.empty() ? all : failed, progress);
  }
  record["ok"] = ok;
  record["problem"] = problem;
  if (!o.json.empty()) write_text(o.json, json_text(record));
  fmt::print("{}\n", word);
  return ok ? 0 : static_cast<int>(Exit::differs);
}

}  // namespace

void add_verify(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "verify",
      "Compare with LibTorch, ONNX Runtime, stored outputs or the reference; find where results part");
  auto o = std::make_shared<VerifyOptions>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  auto* against =
      verb->add_option("--against", o->against,
                       "torch, reference, onnxruntime, or a folder of in_K.npy and out_K.npy or of "
                       "test_data_set_N/{input,output}_K.pb (default: torch; onnxruntime for .onnx)")
          ->type_name("WHAT");
  verb->add_option("--source", o->source, "The source model of an artifact; for onnxruntime model.onnx")
      ->type_name("FILE")
      ->check(model_path());
  auto* bisect =
      verb->add_option("--bisect", o->bisect,
                       "Name the first node or fused region whose value differs, or the one rewrite")
          ->expected(0, 1)
          ->default_str("values")
          ->check(CLI::IsMember({"values", "rewrites"}));
  verb->add_flag("--properties", o->properties,
                 "Check what needs no reference: repeated runs, threads, rows of a batch")
      ->excludes(against)
      ->excludes(bisect);
  verb->add_option("--samples", o->samples, "How many random samples (default 1; 5 for --properties)")
      ->check(CLI::Range(1, 10000));
  verb->add_option("--tolerance", o->share,
                   "Largest error allowed, as a share of the largest value (default 1e-4, more where "
                   "--precision narrowed it or it computes in 8 bits)")
      ->check(number_from(0));
  verb->add_option("--rtol", o->rtol, "Each element: |error| <= atol + rtol * |expected|")
      ->check(number_from(0));
  verb->add_option("--atol", o->atol, "See --rtol")->check(number_from(0));
  verb->add_option("--json", o->json, "Write what was found")->type_name(file_written);
  verb->footer("Example: tenon verify resnet50.pt --samples 3 --bisect");
  verb->callback([&exit_code, o, verb] { exit_code = verify(*o, *verb); });
}

}  // namespace tenon::tools
