// tenon inspect: what a model is.
#include <fmt/core.h>

#include "base/count.h"
#include "ir/hint.h"
#include "ir/print.h"
#include "report/dot.h"
#include "report/graph.h"
#include "report/html.h"
#include "report/plan_explanation.h"
#include "report/summary.h"
#include "report/table.h"
#include "report/weights.h"
#include "tools/model_options.h"
#include "tools/output.h"
#include "tools/plan.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/usage.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

struct InspectOptions {
  ModelOptions model;
  std::string ir, html, dot;
  int depth = 2;
  bool ops = false, modules = false, weights = false, json = false, explain_plan = false;
};

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "";
}

/// Lines under one name: the name stands before the first.
void print_lines(std::string_view name, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print("{:<11}{}\n", std::exchange(name, ""), line);
}

std::vector<std::string> input_lines(const Graph& graph) {
  std::vector<std::string> lines;
  for (const auto& p : graph.body().parameters())
    lines.push_back(fmt::format("{}: {}", p->name(), p->type().str()));
  return lines;
}

std::vector<std::string> output_lines(const Graph& graph) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < graph.body().results().size(); ++i)
    lines.push_back(fmt::format("{}: {}", output_name(graph, i), graph.body().results()[i]->type().str()));
  return lines;
}

std::string weights_line(const Model& model, const ModelSummary& s) {
  std::string kinds;
  if (s.weights.size() > 1)
    for (const DTypeWeights& w : s.weights)
      kinds += fmt::format("{}{} {}", kinds.empty() ? ": " : ", ", name(w.dtype),
                           bytes_text(static_cast<double>(w.bytes)));
  else if (!s.weights.empty())
    kinds = fmt::format(" of {}", name(s.weights[0].dtype));
  return fmt::format("{} ({}) in {}, {}{}", s.numbers, count_text(static_cast<double>(s.numbers)),
                     counted(model.graph->weights().size(), "tensor"),
                     bytes_text(static_cast<double>(s.weight_bytes)), kinds);
}

std::string sizes_text(const ModelSummary& s) { return s.sizes.empty() ? "" : " at " + hint::sizes(s.sizes); }

std::string graph_line(const Model& model, const ModelSummary& s) {
  std::string text;
  if (model.imported) text = counted(model.imported->body().nodes().size(), "node") + " imported, ";
  text += fmt::format("{} after fusion", model.graph->body().nodes().size());
  if (s.plan)
    text += fmt::format(", {} to run ({})", counted(s.plan->steps.size(), "step"),
                        counted(s.plan->copies(), "copy", "copies"));
  return text;
}

std::string operators_line(const ModelSummary& s) {
  std::string text;
  constexpr std::size_t shown = 4;
  for (std::size_t i = 0; i < s.operators.size() && i < shown; ++i) {
    const OperatorCost& o = s.operators[i];
    text += fmt::format("{}{} x {}{}", i ? ", " : "", o.count, o.op,
                        s.flops > 0 ? " (" + percent(o.flops, s.flops) + ")" : "");
  }
  return s.operators.size() > shown ? text + ", ... (--ops lists all)" : text;
}

void print_summary(const Model& model, const ModelSummary& s) {
  print_lines("model", {fmt::format("{} ({})", model.path.string(), model.format())});
  print_lines("input", input_lines(*model.graph));
  print_lines("output", output_lines(*model.graph));
  print_lines("sizes", explain_sizes(model));
  print_lines("weights", {weights_line(model, s)});
  print_lines("arithmetic", {fmt::format("{}{}FLOP a run{}", count_text(s.flops), s.flops < 1000 ? " " : "",
                                         sizes_text(s))});
  if (s.plan)
    print_lines("memory", {fmt::format("arena {}, packed weights {}{}",
                                       bytes_text(static_cast<double>(s.plan->arena_bytes)),
                                       bytes_text(static_cast<double>(s.packed_bytes)), sizes_text(s))});
  else
    print_lines("no plan", {s.no_plan});
  print_lines("graph", {graph_line(model, s)});
  print_lines("operators", {operators_line(s)});
  for (const auto& [key, text] : model.metadata)
    if (!key.starts_with("note.")) print_lines(key, {fact_text(key, text)});
  if (!model.is_source()) print_lines("goldens", {std::to_string(model.goldens.size())});
  print_lines("notes", s.notes);
}

void print_operators(std::string_view title, const std::vector<OperatorCost>& operators) {
  double flops = 0;
  int count = 0;
  for (const OperatorCost& o : operators) {
    flops += o.flops;
    count += o.count;
  }
  Table table({"count", "FLOP", "share", fmt::format("{}: {}", title, counted(count, "node"))});
  for (const OperatorCost& o : operators)
    table.add({std::to_string(o.count), o.flops > 0 ? count_text(o.flops) : "",
               o.flops > 0 ? percent(o.flops, flops) : "", o.op});
  fmt::print("\n{}", table.str());
}

void print_modules(const ModelSummary& s, int depth) {
  Table table({"FLOP", "share", "weights", "bytes", "operators", "module"});
  for (const ModuleCost& m : module_tree(s.modules, depth)) {
    const std::size_t last = m.module.rfind('.');
    const std::string own = last == std::string::npos ? m.module : m.module.substr(last);
    table.add({m.flops > 0 ? count_text(m.flops) : "", m.flops > 0 ? percent(m.flops, s.flops) : "",
               m.numbers > 0 ? count_text(static_cast<double>(m.numbers)) : "",
               m.bytes > 0 ? bytes_text(static_cast<double>(m.bytes)) : "", std::to_string(m.operators),
               std::string(2 * static_cast<std::size_t>(m.depth - 1), ' ') +
                   (m.module.empty() ? "(the model itself)" : own)});
  }
  fmt::print("\n{}", table.str());
}

const Graph& graph_of_weights(const Model& model) { return model.imported ? *model.imported : *model.graph; }

void print_weights(const Model& model) {
  const auto number = [](double v) { return fmt::format("{:.4g}", v); };
  Table table({"KiB", "min", "max", "mean", "std", "zeros", "NaN", "Inf", "type", "weight"});
  WeightStatistics all;
  double bytes = 0;
  for (const auto& w : graph_of_weights(model).weights()) {
    const WeightStatistics s = statistics(w->tensor());
    const bool values = s.finite() > 0;
    const double size = static_cast<double>(w->tensor().numel()) * static_cast<double>(size_of(w->dtype()));
    table.add({fmt::format("{:.1f}", size / 1024), values ? number(s.min) : "", values ? number(s.max) : "",
               values ? number(s.mean) : "", values ? number(s.deviation) : "",
               s.zeros > 0 ? percent(static_cast<double>(s.zeros), static_cast<double>(s.count)) : "",
               s.nans > 0 ? std::to_string(s.nans) : "", s.infinities > 0 ? std::to_string(s.infinities) : "",
               w->type().str(), w->name()});
    all.count += s.count;
    all.zeros += s.zeros;
    all.nans += s.nans;
    all.infinities += s.infinities;
    bytes += size;
  }
  fmt::print("{}{}, {}, {}: {} zeros, {} NaN, {} infinite\n", table.str(),
             counted(graph_of_weights(model).weights().size(), "tensor"), counted(all.count, "number"),
             bytes_text(bytes),
             all.count > 0 ? percent(static_cast<double>(all.zeros), static_cast<double>(all.count)) : "no",
             all.nans, all.infinities);
}

nlohmann::ordered_json weights_json(const Model& model) {
  auto list = nlohmann::ordered_json::array();
  for (const auto& w : graph_of_weights(model).weights())
    list.push_back(to_json(*w, statistics(w->tensor())));
  return list;
}

void write_dot(const Model& model, const InspectOptions& o) {
  const bool imported = o.ir.empty() ? model.is_source() : o.ir == "imported";
  write_text(o.dot, imported ? dot(*model.imported, model.graph.get()) : dot(*model.graph));
}

void print_ir(const Model& model, const InspectOptions& o) {
  if (o.ir == "planned")
    print_plan(model, o.model, &Plan::text);
  else
    fmt::print("{}", print(o.ir == "imported" ? *model.imported : *model.graph,
                           {.weights = false, .lines = o.ir == "imported"}));
}

int inspect(const InspectOptions& o, const CLI::App& verb) {
  if (!o.modules) refuse_unused(verb, "without --modules", {"--depth"});
  if (!o.ir.empty() && o.dot.empty()) refuse_unused(verb, "with --ir", {"--html"});
  if (o.explain_plan) refuse_unused(verb, "with --explain-plan", {"--html", "--dot"});
  if (o.json) check_outputs_apart({o.html, o.dot, "-"});
  if (o.ir == "planned" && !o.dot.empty())
    throw error("--dot draws the imported or the fused graph, not the plan")
        .hint("--ir imported or --ir fused");
  Progress progress;
  const Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  progress.say("");
  if (o.ir == "imported" && !model.is_source())
    throw error("an artifact holds the fused graph only").at(o.model.path).hint("inspect the source model");
  if (!o.dot.empty()) write_dot(model, o);
  if (!o.ir.empty() && o.dot.empty()) {
    print_ir(model, o);
    return 0;
  }
  if (o.explain_plan) {
    print_plan(model, o.model, explanation);
    return 0;
  }
  const bool tables = o.ops || o.modules || o.weights;
  const bool needs_summary = o.json || !o.html.empty() || o.ops || o.modules || (o.dot.empty() && !tables);
  if (!needs_summary) {
    if (o.weights) print_weights(model);
    return 0;
  }
  Session session(model.graph, o.model.session_options(model));
  const ModelSummary summary = summarize(model, session, o.model.values(model));
  if (!o.html.empty()) write_text(o.html, html(to_json(model, summary)));
  if (o.json) {
    auto document = to_json(model, summary);
    if (o.weights) document["tensors"] = weights_json(model);
    if (summary.plan)
      document["plan"]["choices"] = choices_json(*session.plan_with_stages(o.model.values(model)));
    fmt::print("{}\n", document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
    return 0;
  }
  if (o.ops || o.modules || (o.html.empty() && o.dot.empty())) print_summary(model, summary);
  if (o.ops) {
    print_operators("fused", summary.operators);
    if (model.imported) print_operators("imported", summary.imported);
  }
  if (o.modules) print_modules(summary, o.depth);
  if (o.weights) print_weights(model);
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("inspect", "Show what a model is: inputs, outputs, weights, operators, its graph");
  auto o = std::make_shared<InspectOptions>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  auto* ir =
      verb->add_option("--ir", o->ir, "The graph at a stage, as text (with --dot: which graph to draw)")
          ->check(CLI::IsMember({"imported", "fused", "planned"}));
  auto* explain = verb->add_flag("--explain-plan", o->explain_plan, explain_plan_help);
  explain->excludes(ir);
  verb->add_flag("--ops", o->ops, "Operators by cost and count, after and before fusion")
      ->excludes(ir)
      ->excludes(explain);
  verb->add_flag("--modules", o->modules, "Modules of the source by cost and weights, as a tree")
      ->excludes(ir)
      ->excludes(explain);
  verb->add_option("--depth", o->depth, "Names in the paths that --modules shows")
      ->capture_default_str()
      ->check(integer_from(1));
  verb->add_flag("--weights", o->weights, "Each weight's range, mean, deviation, zeros, NaN and infinities")
      ->excludes(ir)
      ->excludes(explain);
  verb->add_flag("--json", o->json, "All of it as JSON (with --weights: their statistics too)")
      ->excludes(ir)
      ->excludes(explain);
  verb->add_option("--html", o->html, "Write a page: graph before and after fusion, steps, memory")
      ->type_name(file_written);
  verb->add_option("--dot", o->dot, "Write the graph for Graphviz, what was fused in clusters")
      ->type_name(file_written);
  verb->footer("Example: tenon inspect resnet50.tenon --ops --modules");
  verb->callback([&exit_code, o, verb] { exit_code = inspect(*o, *verb); });
}

}  // namespace tenon::tools
