// tenon convert: source file to artifact, verified against the source.
#include <fmt/core.h>

#include <filesystem>

#include "base/error.h"
#include "exporter/forms.h"
#include "ir/bind.h"
#include "ir/print.h"
#include "report/conversion.h"
#include "runtime/stream.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/verbs.h"
#include "verify/json.h"
#include "verify/onnxruntime.h"
#include "verify/outputs.h"
#include "verify/torch.h"

namespace tenon::tools {
namespace {

struct ConvertVerb {
  ModelOptions model;
  std::string output, print_ir, json;
  bool explain = false, report = false, no_verify = false;
  double tolerance = 1e-4;
};

void print_stage(const Model& model, const std::string& stage, const ModelOptions& options) {
  if (stage == "imported") fmt::print("{}", print(*model.imported, {.weights = false, .lines = true}));
  if (stage == "fused") fmt::print("{}", print(*model.graph, {.weights = false}));
  if (stage == "planned")
    fmt::print("{}", Session(model.graph, {.threads = options.threads}).plan_text(options.values(model)));
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

// What runs the source model: LibTorch, or ONNX Runtime.
class Source {
 public:
  Source(const Model& model, const ModelOptions& options) : model_(model), method_(options.method) {
    if (model.is_pytorch())
      torch_ = std::make_unique<TorchOracle>(
          model.path, OracleOptions{.fixed = fixed_numbers(options.open_options().convert.inputs),
                                    .weights = options.weights});
  }

  std::vector<Tensor> outputs(const std::vector<Tensor>& inputs) {
    if (torch_) return torch_outputs(*torch_, *model_.graph, inputs, method_);
    return onnxruntime_outputs(model_.path, *model_.graph, inputs);
  }

 private:
  const Model& model_;
  const std::string& method_;
  std::unique_ptr<TorchOracle> torch_;
};

std::string_view runner_of(const Model& model) { return model.is_pytorch() ? "LibTorch" : "ONNX Runtime"; }

// The source may refuse inputs that were made up.
std::vector<Tensor> source_outputs(Source& source, const Model& model, const std::vector<Tensor>& inputs) {
  try {
    return source.outputs(inputs);
  } catch (Error& e) {
    if (e.hint().empty())
      e.hint(
          fmt::format("if the model needs other inputs than random ones{}: --input x=sample.npy, --shape N=8",
                      sizes_text(*model.graph, inputs)));
    throw;
  }
}

void check_equal(const Model& model, std::span<const OutputCheck> checks) {
  for (const OutputCheck& c : checks)
    if (!c.ok) {
      const auto runner = runner_of(model);
      Error e(c.same_type()
                  ? fmt::format("output {} differs from {}'s: {}", c.name, runner, c.difference.str())
                  : fmt::format("output {} is {}, {}'s is {}", c.name, c.type, runner, c.expected_type),
              Exit::differs);
      e.at(model.path.string())
          .hint(fmt::format("find where: tenon verify {} --bisect", model.path.string()));
      throw e;
    }
}

// Compares source and result, call by call; small samples become goldens.
class SourceCheck {
 public:
  SourceCheck(const ConvertVerb& o, Model& model)
      : options_(o),
        model_(model),
        source_(model, o.model),
        session_(model.graph, {.threads = o.model.threads}),
        stream_(session_) {}

  /// One seeded sample; a stream of some where the model keeps state. Where sizes may vary, others too.
  void run() {
    constexpr std::int64_t batch = 2;  // what goes wrong between samples shows
    constexpr int calls = 4;           // of a stream
    const bool has_states = !states_of(*model_.graph).empty();
    std::vector<Tensor> inputs;
    for (int call = 0; call < (has_states ? calls : 1); ++call) {
      ModelOptions options = options_.model;
      options.seed += static_cast<std::uint64_t>(call) * 1000;
      inputs = stream_.with_states(options.values(model_, batch));
      compare(inputs, source_outputs(source_, model_, inputs), true);
    }
    sizes_ = sizes_text(*model_.graph, inputs);
    if (!has_states) run_other_sizes(inputs);
    model_.facts["verified"] = fmt::format("relative error {:.1e}{}", error_, sizes_);
  }

 private:
  void compare(const std::vector<Tensor>& inputs, std::vector<Tensor> expected, bool keep) {
    constexpr std::size_t golden_bytes = 8 << 20;
    const std::vector<Tensor> outputs = stream_.run(inputs);
    const auto checks = check_outputs(*model_.graph, outputs, expected, options_.tolerance);
    check_equal(model_, checks);
    for (const OutputCheck& c : checks) error_ = std::max(error_, c.difference.relative());
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!expected[i].defined()) expected[i] = outputs[i];  // a state
    for (const auto* list : {&inputs, &std::as_const(expected)})
      for (const Tensor& t : *list) bytes += static_cast<std::size_t>(t.numel()) * size_of(t.dtype());
    if (keep && bytes <= golden_bytes) model_.goldens.push_back({inputs, expected});
  }

  // A size that the trace wrote down as a number shows where the source fails at another one.
  void run_other_sizes(const std::vector<Tensor>& first) {
    ModelOptions options = options_.model;
    if (!options.sizes.empty()) return;  // the user's
    for (const auto& [symbol, size] : bind_inputs(*model_.graph, first)) {
      const auto info = model_.graph->symbols.find(symbol);
      const std::int64_t other = size < 8 ? size + 1 : size + size / 2;
      const bool allowed = info == model_.graph->symbols.end() || other <= info->second.max;
      options.sizes.push_back(fmt::format("{}={}", symbol, allowed ? other : size));
    }
    const std::vector<Tensor> inputs = options.values(model_, 1);
    const std::string sizes = sizes_text(*model_.graph, inputs);
    if (sizes == sizes_) return;
    std::vector<Tensor> expected;
    try {
      expected = source_.outputs(inputs);
    } catch (const Error& e) {
      model_.notes.push_back({ConvertNote::Kind::baked_size,
                              fmt::format("the source runs{}, but not{}: a size may be fixed in it ({})",
                                          sizes_, sizes, e.message())});
      return;
    }
    compare(inputs, std::move(expected), false);
    sizes_ += " and" + sizes.substr(3);
  }

  const ConvertVerb& options_;
  Model& model_;
  Source source_;
  Session session_;
  Stream stream_;
  double error_ = 0;
  std::string sizes_;
};

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

std::string done_text(const Model& model, const exporter::Form& form) {
  if (form.suffix != ".tenon") return std::string(form.holds);
  return fmt::format("{} nodes, {} rewrites", model.graph->body().nodes().size(),
                     model.fusion.rewrites.size());
}

int convert(const ConvertVerb& o) {
  const std::string target = output_path(o);
  std::error_code missing;
  if (std::filesystem::equivalent(target, o.model.path, missing))
    throw error("the output would replace the model it is made from").at(target).hint("give another -o");
  const exporter::Form& form = exporter::form_of(target);
  Progress progress;
  check_is_file(o.json);
  check_outputs_apart({o.json, target});
  Model model = opened(o, progress);
  const bool only_shows = o.explain || o.report || !o.print_ir.empty();
  if (!model.is_source() && (only_shows || form.suffix == ".tenon"))
    throw error("this is an artifact already").at(o.model.path).hint("give the source model");
  if (!model.is_source() && !o.model.inputs.empty())
    throw error("an artifact has its types: --input cannot change them")
        .at(o.model.path)
        .hint("give the source model");
  progress.say("");
  if (!o.print_ir.empty()) print_stage(model, o.print_ir, o.model);
  if (o.explain) explain(model.fusion);
  if (o.report) fmt::print("{}", conversion_text(model));
  if (o.output.empty() && only_shows) {
    if (!o.json.empty()) write_text(o.json, json_text(conversion_json(model)));
    return 0;
  }
  const bool verifies = model.is_source() && form.runs && !o.no_verify;
  if (model.is_source()) model.facts["verified"] = "no";
  if (verifies) {
    progress.say(fmt::format("verifying against {}", runner_of(model)));
    SourceCheck(o, model).run();
  }
  progress.say("writing " + target);
  model.facts["source"] = std::filesystem::path(o.model.path).filename().string();
  for (std::size_t i = 0; i < model.notes.size(); ++i)
    model.facts[fmt::format("note.{}", i)] = model.notes[i].text;
  const std::vector<std::string> lacking = form.write(model, target);
  if (!o.json.empty()) write_text(o.json, json_text(conversion_json(model)));
  progress.say("");
  for (const ConvertNote& n : model.notes) fmt::print("note: {}\n", n.text);
  for (const std::string& sentence : lacking) fmt::print("note: {}\n", sentence);
  fmt::print("{}: {}{}\n", target, done_text(model, form),
             !form.runs ? ""
             : verifies ? fmt::format(", equal to {} ({})", runner_of(model), model.facts["verified"])
                        : ", not verified");
  return 0;
}

}  // namespace

void add_convert(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "convert", "Convert a model, fuse it, check it against the source, write an artifact or ONNX");
  auto o = std::make_shared<ConvertVerb>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option(
      "-o,--output", o->output,
      "What to write, by its suffix: " + exporter::forms_text() + " (default: the model's name with .tenon)");
  verb->add_option("--print-ir", o->print_ir, "Show the graph at a stage")
      ->check(CLI::IsMember({"imported", "fused", "planned"}));
  verb->add_flag("--explain-fusion", o->explain, "Say what fused, what did not and why");
  verb->add_flag("--report", o->report, "Say what was folded, raised and fused, and where sizes come from");
  verb->add_option("--json", o->json, "Write that, and what is unsupported")->type_name("FILE");
  verb->add_flag("--no-verify", o->no_verify, "Do not run the source model; the artifact says so");
  verb->add_option("--tolerance", o->tolerance, "Largest error allowed, as a share of the largest value")
      ->capture_default_str()
      ->check(number_from(0));
  verb->footer("Example: tenon convert resnet50.pt -o resnet50.tenon --input x=f32[N,3,224,224]");
  verb->callback([&exit_code, o] { exit_code = convert(*o); });
}

}  // namespace tenon::tools
