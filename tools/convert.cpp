// tenon convert: source file to artifact, verified against the source.
#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "ir/bind.h"
#include "ir/print.h"
#include "runtime/session.h"
#include "tools/model_options.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/verbs.h"
#include "verify/outputs.h"
#include "verify/torch.h"

namespace tenon::tools {
namespace {

struct ConvertVerb {
  ModelOptions model;
  std::string output, print_ir;
  bool explain = false, no_verify = false, json = false;
  double tolerance = 1e-4;
};

void print_stage(const Model& model, const std::string& stage, const ModelOptions& options) {
  if (stage == "imported") fmt::print("{}", print(*model.imported, {.weights = false, .lines = true}));
  if (stage == "fused") fmt::print("{}", print(*model.graph, {.weights = false}));
  if (stage == "planned")
    fmt::print("{}",
               Session(model.graph, {.threads = options.threads}).plan_for(options.values(model))->text());
}

void explain(const FuseReport& report) {
  for (const Rewrite& r : report.rewrites)
    fmt::print("{:>5}  {:<14} {:<22} {}  {}\n", r.number, r.pass, r.rule, r.text,
               r.place.empty() ? "" : "# " + r.place);
  for (const Refusal& r : report.refusals)
    fmt::print("    -  {:<37} {}  {}\n", r.rule, r.reason, r.place.empty() ? "" : "# " + r.place);
}

std::string sizes_text(const Graph& graph, std::span<const Tensor> inputs) {
  std::string text;
  for (const auto& [symbol, size] : bind_inputs(graph, inputs))
    text += fmt::format("{}{}={}", text.empty() ? " at " : ", ", symbol, size);
  return text;
}

// LibTorch may refuse inputs that were made up.
std::vector<Tensor> source_outputs(TorchOracle& torch, const Model& model, const std::vector<Tensor>& inputs,
                                   const std::string& method) {
  try {
    return torch_outputs(torch, *model.graph, inputs, method);
  } catch (Error& e) {
    if (e.hint().empty())
      e.hint(
          fmt::format("if the model needs other inputs than random ones{}: --input x=sample.npy, --shape N=8",
                      sizes_text(*model.graph, inputs)));
    throw;
  }
}

// Runs source and result on one seeded sample. The sample becomes a golden when it is small.
void check_against_source(const ConvertVerb& o, Model& model) {
  constexpr std::size_t golden_bytes = 8 << 20;
  constexpr std::int64_t batch = 2;  // what goes wrong between samples shows
  const std::vector<Tensor> inputs = o.model.values(model, batch);
  TorchOracle torch(model.path, {.fixed = fixed_numbers(o.model.open_options().convert.inputs)});
  const std::vector<Tensor> expected = source_outputs(torch, model, inputs, o.model.method);
  const auto checks = check_outputs(
      *model.graph, Session(model.graph, {.threads = o.model.threads}).run(inputs), expected, o.tolerance);
  for (const OutputCheck& c : checks)
    if (!c.ok) {
      Error e(c.same_type()
                  ? fmt::format("output {} differs from LibTorch's: {}", c.name, c.difference.str())
                  : fmt::format("output {} is {}, LibTorch's is {}", c.name, c.type, c.expected_type),
              Exit::differs);
      e.at(model.path.string())
          .hint(fmt::format("find where: tenon verify {} --bisect", model.path.string()));
      throw e;
    }
  std::size_t bytes = 0;
  for (const auto* list : {&inputs, &expected})
    for (const Tensor& t : *list) bytes += static_cast<std::size_t>(t.numel()) * size_of(t.dtype());
  double error = 0;
  for (const OutputCheck& c : checks) error = std::max(error, c.difference.relative());
  model.facts["verified"] = fmt::format("relative error {:.1e}{}", error, sizes_text(*model.graph, inputs));
  if (bytes <= golden_bytes) model.goldens.push_back({inputs, expected});
}

std::string output_path(const ConvertVerb& o) {
  return o.output.empty() ? std::filesystem::path(o.model.path).replace_extension(".tenon").string()
                          : o.output;
}

int convert(const ConvertVerb& o) {
  const std::string target = output_path(o);
  std::error_code missing;
  if (std::filesystem::equivalent(target, o.model.path, missing))
    throw error("the artifact would replace the model it is made from").at(target).hint("give another -o");
  Progress progress;
  Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  if (!model.is_source())
    throw error("this is an artifact already").at(o.model.path).hint("give the source model");
  progress.say("");
  if (!o.print_ir.empty()) print_stage(model, o.print_ir, o.model);
  if (o.explain) explain(model.fusion);
  if (o.output.empty() && (o.explain || !o.print_ir.empty())) return 0;
  model.facts["verified"] = "no";
  if (!o.no_verify) {
    progress.say("verifying against LibTorch");
    check_against_source(o, model);
  }
  progress.say("writing " + target);
  model.facts["source"] = std::filesystem::path(o.model.path).filename().string();
  for (std::size_t i = 0; i < model.notes.size(); ++i)
    model.facts[fmt::format("note.{}", i)] = model.notes[i].text;
  save_artifact({.graph = model.graph, .goldens = model.goldens, .notes = model.facts}, target);
  progress.say("");
  for (const ConvertNote& n : model.notes) fmt::print("note: {}\n", n.text);
  fmt::print("{}: {} nodes, {} rewrites, {}\n", target, model.graph->body().nodes().size(),
             model.fusion.rewrites.size(),
             o.no_verify ? "not verified" : "equal to LibTorch (" + model.facts["verified"] + ")");
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand("convert",
                                  "Convert a model, fuse it, check it against the source, write an artifact");
  auto o = std::make_shared<ConvertVerb>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option("-o,--output", o->output, "The artifact (default: the model's name with .tenon)");
  verb->add_option("--print-ir", o->print_ir, "Show the graph at a stage")
      ->check(CLI::IsMember({"imported", "fused", "planned"}));
  verb->add_flag("--explain-fusion", o->explain, "Say what fused, what did not and why");
  verb->add_flag("--no-verify", o->no_verify, "Do not run the source model; the artifact says so");
  verb->add_option("--tolerance", o->tolerance, "Largest error allowed, as a share of the largest value")
      ->capture_default_str()
      ->check(number_from(0));
  verb->footer("Example: tenon convert resnet50.pt -o resnet50.tenon --input x=f32[N,3,224,224]");
  verb->callback([&exit_code, o] { exit_code = convert(*o); });
}

}  // namespace tenon::tools
