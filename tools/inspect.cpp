// tenon inspect: what a model is.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "fusion/outline.h"
#include "ir/print.h"
#include "runtime/session.h"
#include "tools/model_options.h"
#include "tools/terminal.h"
#include "tools/verbs.h"

namespace tenon::tools {
namespace {

struct InspectOptions {
  ModelOptions model;
  std::string ir;
  bool ops = false, weights = false, json = false;
};

std::size_t bytes_of(const Value& weight) {
  return static_cast<std::size_t>(numel(eval(weight.shape(), {}))) * size_of(weight.dtype());
}

void print_json(const Model& model) {
  nlohmann::ordered_json out;
  out["model"] = model.path.string();
  for (const auto& p : model.graph->body().parameters())
    out["inputs"].push_back({{"name", p->name()}, {"type", p->type().str()}});
  for (std::size_t i = 0; i < model.graph->body().results().size(); ++i)
    out["outputs"].push_back(
        {{"name", output_name(*model.graph, i)}, {"type", model.graph->body().results()[i]->type().str()}});
  std::int64_t parameters = 0;
  std::size_t bytes = 0;
  for (const auto& w : model.graph->weights()) {
    parameters += numel(eval(w->shape(), {}));
    bytes += bytes_of(*w);
  }
  out["parameters"] = parameters;
  out["weight_bytes"] = bytes;
  out["nodes"] = model.graph->body().nodes().size();
  out["operators"] = count_kinds(*model.graph);
  out["goldens"] = model.goldens.size();
  for (const auto& [key, text] : model.facts) out[key] = text;
  fmt::print("{}\n", out.dump(2));
}

void print_summary(const Model& model) {
  const Graph& graph = *model.graph;
  fmt::print("model    {}\n", model.path.string());
  for (const auto& p : graph.body().parameters()) fmt::print("input    {}: {}\n", p->name(), p->type().str());
  for (std::size_t i = 0; i < graph.body().results().size(); ++i)
    fmt::print("output   {}: {}\n", output_name(graph, i), graph.body().results()[i]->type().str());
  for (const auto& [name, info] : graph.symbols)
    if (!info.note.empty()) fmt::print("symbol   {}: {}\n", name, info.note);
  std::int64_t parameters = 0;
  std::size_t bytes = 0;
  for (const auto& w : graph.weights()) {
    parameters += numel(eval(w->shape(), {}));
    bytes += bytes_of(*w);
  }
  fmt::print("weights  {} numbers in {} tensors, {:.1f} MiB\n", parameters, graph.weights().size(),
             static_cast<double>(bytes) / (1 << 20));
  fmt::print("nodes    {}\n", graph.body().nodes().size());
  if (!model.is_source()) {
    for (const auto& [key, text] : model.facts) fmt::print("{:<8} {}\n", key, text);
    fmt::print("goldens  {}\n", model.goldens.size());
  }
  for (const ConvertNote& n : model.notes) fmt::print("note     {}\n", n.text);
}

int inspect(const InspectOptions& o) {
  Progress progress;
  const Model model = o.model.open([&](std::string_view what) { progress.say(what); });
  progress.say("");
  if (o.json) {
    print_json(model);
    return 0;
  }
  if (!o.ir.empty()) {
    if (o.ir == "imported" && !model.is_source())
      throw error("an artifact holds the fused graph only").at(o.model.path).hint("inspect the source model");
    if (o.ir == "planned")
      fmt::print("{}",
                 Session(model.graph, {.threads = o.model.threads}).plan_for(o.model.values(model))->text());
    else
      fmt::print("{}", print(o.ir == "imported" ? *model.imported : *model.graph,
                             {.weights = false, .lines = o.ir == "imported"}));
    return 0;
  }
  if (o.weights) {
    Table table({"weight", "type", "KiB"});
    for (const auto& w : model.graph->weights())
      table.add(
          {w->name(), w->type().str(), fmt::format("{:.1f}", static_cast<double>(bytes_of(*w)) / 1024)});
    fmt::print("{}", table.str());
    return 0;
  }
  print_summary(model);
  if (o.ops) {
    Table table({"operator", "count"});
    for (const auto& [name, count] : count_kinds(*model.graph)) table.add({name, std::to_string(count)});
    fmt::print("\n{}", table.str());
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& app, int& exit_code) {
  auto* verb =
      app.add_subcommand("inspect", "Show what a model is: inputs, outputs, weights, operators, its graph");
  auto o = std::make_shared<InspectOptions>();
  o->model.add_model(*verb);
  o->model.add_run(*verb);
  verb->add_option("--ir", o->ir, "The graph at a stage")
      ->check(CLI::IsMember({"imported", "fused", "planned"}));
  verb->add_flag("--ops", o->ops, "Operators by count");
  verb->add_flag("--weights", o->weights, "Names, types and sizes of the weights");
  verb->add_flag("--json", o->json, "As JSON");
  verb->footer("Example: tenon inspect resnet50.tenon --ops");
  verb->callback([&exit_code, o] { exit_code = inspect(*o); });
}

}  // namespace tenon::tools
