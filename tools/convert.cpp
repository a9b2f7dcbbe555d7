// tenon convert: source file to artifact, verified against the source.
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "base/count.h"
#include "base/error.h"
#include "base/shell.h"
#include "base/utf8.h"
#include "exporter/export_and_verify.h"
#include "ir/clone.h"
#include "ir/print.h"
#include "report/conversion.h"
#include "report/plan_explanation.h"
#include "report/table.h"
#include "runtime/session.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/plan.h"
#include "tools/ranges.h"
#include "tools/source_check.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"
#include "verify/json.h"
#include "verify/outputs.h"
#include "verify/precision_search.h"

namespace tenon::tools {
namespace {

struct ConvertVerb {
  ModelOptions model;
  std::string output, print_ir, json;
  bool explain_fusion = false, explain_plan = false, report = false, no_verify = false;
  std::optional<double> tolerance, max_error;
};

void print_stage(const Model& model, const std::string& stage, const ModelOptions& options) {
  if (stage == "imported") fmt::print("{}", print(*model.imported, {.weights = false, .lines = true}));
  if (stage == "fused") fmt::print("{}", print(*model.graph, {.weights = false}));
  if (stage == "planned") print_plan(model, options, &Plan::text);
}

void explain(const FuseReport& report) {
  for (const Rewrite& r : report.rewrites)
    fmt::print("{:>5}  {:<14} {:<22} {}  {}\n", r.number, r.pass, r.rule, r.text,
               r.location.empty() ? "" : "# " + r.location);
  for (const RefusedMatch& r : report.refusals)
    fmt::print("    -  {:<37} {}  {}\n", r.rule, r.reason, r.location.empty() ? "" : "# " + r.location);
}

std::string output_path(const ConvertVerb& o) {
  return o.output.empty() ? std::filesystem::path(o.model.path).replace_extension(".tenon").string()
                          : o.output;
}

// What stands in the way is written before the error that lists it goes on.
Model opened(const ConvertVerb& o, Progress& progress) {
  UnsupportedReport unsupported;
  try {
    return o.model.open([&](std::string_view what) { progress.say(what); }, &unsupported);
  } catch (const Error& e) {
    if (!o.json.empty()) write_text(o.json, json_text(conversion_json(o.model.path, unsupported, e)));
    throw;
  }
}

Error converted_already(const ConvertVerb& o) {
  const std::string path = path_in_shell(o.model.path);
  const std::string shown = o.explain_plan             ? "--explain-plan"
                            : o.print_ir.empty()       ? ""
                            : o.print_ir == "imported" ? "--ir fused"
                                                       : "--ir " + o.print_ir;
  const std::string hint =
      shown.empty() ? fmt::format(
                          "run it: tenon run {}; or write another form of it: -o model.onnx; or give "
                          "the source",
                          path)
                    : fmt::format("tenon inspect {} {}; or give the source", path, shown);
  return error("this is an artifact: it is converted already").at(o.model.path).hint(hint);
}

std::string done_text(const Model& model, const exporter::OutputFormat& form) {
  if (form.suffix != ".tenon") return std::string(form.holds);
  return fmt::format("{}, {}", counted(model.graph->body().nodes().size(), "node"),
                     counted(model.fusion.rewrites.size(), "rewrite"));
}

// What was written, and how long everything took.
std::string written_text(const std::filesystem::path& target, std::chrono::steady_clock::time_point begin) {
  double bytes = 0;
  for (const auto& file : {target, std::filesystem::path(target) += ".data"}) {  // ONNX's, beyond 2 GiB
    std::error_code missing;
    const auto size = std::filesystem::file_size(file, missing);
    if (!missing) bytes += static_cast<double>(size);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  return fmt::format("{} in {:.1f} s", bytes_text(bytes), time.count());
}

// Products that --max-error does not let become 16 bits stay float32. Says how many.
std::string keep_error(const ConvertVerb& o, Model& model, Progress& progress) {
  constexpr double share = 0.8;  // the rest is left to inputs that the search has not seen
  constexpr int samples = 4;
  FuseOptions fusion = o.model.open_options().fuse;
  progress.say("searching what stays float32");
  std::vector<Inputs> inputs;
  for (int s = 0; s < samples; ++s) {
    ModelOptions options = o.model;
    options.seed += static_cast<std::uint64_t>(s) * 1000;
    inputs.push_back(options.values(model, 2));
  }
  const PrecisionSearch found = search_precision({.imported = *model.imported,
                                                  .options = fusion,
                                                  .device = o.model.on.device(),
                                                  .threads = o.model.threads},
                                                 inputs, share * *o.max_error);
  const auto kept = static_cast<int>(found.kept.size());
  if (kept == found.products)
    throw error("no product can become {}: the error of each alone is beyond {:.2g}", name(fusion.precision),
                share * *o.max_error)
        .at("--max-error")
        .hint("allow more, or leave --precision out");
  fusion.kept_products = found.kept;
  std::shared_ptr<Graph> graph = clone(*model.imported);
  model.fusion = fuse(*graph, fusion);
  model.graph = std::move(graph);
  std::string said = fmt::format("{} of {}", kept, counted(found.products, "product"));
  model.metadata["float32"] = said;
  return fmt::format("float32 for {}: the error is {:.1e} where the others are {}, and {:.1e} where all are",
                     said, found.error, name(fusion.precision), found.of_all);
}

int convert(const ConvertVerb& o, const CLI::App& verb) {
  const Precision precision = o.model.on.precision();
  if (o.max_error && (!half_of(precision) || is_of_weights(precision)))
    refuse_unused(verb, "without --precision bf16 or f16", {"--max-error"});
  if (o.no_verify) refuse_unused(verb, "with --no-verify", {"--tolerance"});
  const auto begin = std::chrono::steady_clock::now();
  const std::string target = output_path(o);
  if (o.output.empty() && std::filesystem::path(o.model.path).extension() == ".tenon")
    throw converted_already(o);
  const exporter::OutputFormat& form = exporter::output_format_of(target);
  Progress progress;
  check_is_file(o.json);
  if (std::filesystem::exists(o.model.path)) check_outputs_apart({o.json, target});
  Model model = opened(o, progress);
  const bool only_shows = o.explain_fusion || o.explain_plan || o.report || !o.print_ir.empty();
  if (!model.is_source() && (only_shows || form.suffix == ".tenon")) throw converted_already(o);
  if (!model.is_source() && !o.model.inputs.empty())
    throw error("an artifact has its types: --input cannot change them")
        .at(o.model.path)
        .hint("give the source model");
  const std::string kept = o.max_error ? keep_error(o, model, progress) : "";
  progress.say("");
  if (!o.print_ir.empty()) print_stage(model, o.print_ir, o.model);
  if (o.explain_fusion) explain(model.fusion);
  if (o.explain_plan) print_plan(model, o.model, explanation);
  if (o.report) fmt::print("{}", conversion_text(model));
  if (o.output.empty() && only_shows) {
    if (!o.json.empty()) write_text(o.json, json_text(conversion_json(model)));
    fmt::print(stderr, "note: nothing was written and nothing verified; to convert, add -o {}\n",
               in_shell(target));
    return 0;
  }
  const bool verifies = model.is_source() && form.runs && !o.no_verify;
  const double usual = usual_tolerance(model, verifies ? o.model.on.device() : cpu_device());
  const double tolerance = o.tolerance.value_or(o.max_error.value_or(usual));
  if (model.is_source()) model.metadata["verified"] = "no";
  std::vector<Sample> samples;
  Verdict compared;
  std::string unverified;  // why the comparisons prove nothing
  if (verifies) {
    progress.say(fmt::format("verifying against {}", runner_of(model)));
    samples = check_against_source(model, o.model, tolerance, compared);
    unverified = compared.problem();
  } else if (!o.no_verify && !model.goldens.empty()) {
    samples = {{"golden", model.goldens[0].inputs, model.goldens[0].outputs}};
  }
  std::string verdict = verifies && unverified.empty()
                            ? fmt::format(", {} {} ({})",
                                          !compared.compared_numbers()           ? "compared with"
                                          : model.metadata.contains("precision") ? "narrowed, close to"
                                          : tolerance > 1e-3                     ? "close to"
                                                                                 : "equal to",
                                          runner_of(model), model.metadata["verified"])
                        : form.runs ? ", not verified"
                                    : "";
  progress.say("writing " + target);
  model.metadata["source"] = std::filesystem::path(o.model.path).filename().string();
  for (std::size_t i = 0; i < model.notes.size(); ++i)
    model.metadata[fmt::format("note.{}", i)] = model.notes[i].text;
  std::vector<std::string> omissions;
  if (!samples.empty() && form.outputs) {
    auto written = exporter::export_and_verify(form, model, target, samples, tolerance);
    omissions = std::move(written.omissions);
    if (!written.unverified.empty()) unverified = written.unverified;
    if (!written.problem.empty())
      verdict += "; the file was not run: " + written.problem;
    else if (unverified.empty())
      verdict = fmt::format("{}; {} gives the same from the file (relative error {:.1e})",
                            verifies ? verdict : "", form.runner, written.error);
  } else {
    omissions = form.write(model, target);
  }
  if (!o.json.empty()) write_text(o.json, json_text(conversion_json(model)));
  progress.say("");
  for (const ConvertNote& n : model.notes)
    if (n.kind != ConvertNote::Kind::training) fmt::print("note: {}\n", n.text);  // that one is a warning
  for (const std::string& sentence : omissions) fmt::print("note: {}\n", sentence);
  if (!kept.empty()) fmt::print("note: {}\n", kept);
  for (const std::string& note : compared.notes()) fmt::print("note: {}\n", note);
  if (unverified.empty()) {
    fmt::print("{}: {}{}, {}\n", printable(target), done_text(model, form), verdict,
               written_text(target, begin));
    return 0;
  }
  fmt::print("{}: {}, NOT VERIFIED: {}, {}\n  try: inputs {}: {}\n", printable(target),
             done_text(model, form), unverified, written_text(target, begin),
             compared.has_elements() ? "that give numbers" : "of other sizes", own_inputs(model, o.model));
  return static_cast<int>(Exit::differs);
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "convert", "Convert a model, fuse it, check it against the source, write an artifact or ONNX");
  auto o = std::make_shared<ConvertVerb>();
  o->model.keeps_symbols = true;
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option("-o,--output", o->output,
                   "What to write, by its suffix: " + exporter::output_formats_text() +
                       " (default: the model's name with .tenon)")
      ->type_name(file_written)
      ->check(not_empty());
  verb->add_option("--print-ir", o->print_ir, "Show the graph at a stage")
      ->check(CLI::IsMember({"imported", "fused", "planned"}));
  verb->add_flag("--explain-fusion", o->explain_fusion, "Say what fused, what did not and why");
  verb->add_flag("--explain-plan", o->explain_plan, explain_plan_help);
  verb->add_flag("--report", o->report, "Say what was folded, raised and fused, and where sizes come from");
  verb->add_option("--json", o->json, "Write that, and what is unsupported")->type_name(file_written);
  verb->add_flag("--no-verify", o->no_verify, "Do not run the source model; the artifact says so");
  verb->add_option("--tolerance", o->tolerance,
                   "Largest error allowed, as a share of the largest value (default 1e-4, more where "
                   "--precision narrowed it or it computes in 8 bits)")
      ->check(number_from(0));
  verb->add_option("--max-error", o->max_error,
                   "With --precision bf16 or f16: products stay float32 as far as that keeps the error below "
                   "this share of an output's largest value")
      ->check(number_from(0));
  verb->footer("Example: tenon convert resnet50.pt -o resnet50.tenon --input x=f32[N,3,224,224]");
  verb->callback([&exit_code, o, verb] { exit_code = convert(*o, *verb); });
}

}  // namespace tenon::tools
