// tenon equiv: do two models compute the same numbers, by the same fused graph?
#include <fmt/core.h>

#include "base/error.h"
#include "ir/clone.h"
#include "ir/evaluate.h"
#include "runtime/session.h"
#include "tools/model_options.h"
#include "tools/model_path.h"
#include "tools/output.h"
#include "tools/ranges.h"
#include "tools/terminal.h"
#include "tools/verbs.h"
#include "verify/json.h"

namespace tenon::tools {
namespace {

using nlohmann::json;

struct EquivOptions {
  ModelOptions a;
  std::string b, json;
  int samples = 3;
  double tolerance = 1e-4;
  bool strict = false;
};

std::vector<Tensor> pick(const std::vector<Tensor>& tensors, const std::vector<std::size_t>& which) {
  std::vector<Tensor> picked;
  for (const std::size_t i : which) picked.push_back(tensors[i]);
  return picked;
}

void print_node(const char* side, const std::string& node, const std::string& place) {
  if (node.empty()) return;
  fmt::print("  {}: {}\n", side, node);
  if (!place.empty()) fmt::print("     at: {}\n", place);
}

int equiv(const EquivOptions& o) {
  check_is_file(o.json);
  check_outputs_apart({o.json});
  Progress progress;
  const auto say = [&](std::string_view what) { progress.say(what); };
  ModelOptions other = o.a;
  other.path = o.b;
  const Model a = o.a.open(say), b = other.open(say);
  const auto inputs_from = match_inputs(*a.graph, *b.graph);
  const auto outputs_from = match_outputs(*a.graph, *b.graph);
  Session session_a(a.graph, {.threads = o.a.threads}), session_b(b.graph, {.threads = o.a.threads});
  Table table({"sample", "output", "max error", "relative", ""});
  json record = {{"a", o.a.path}, {"b", o.b}, {"outputs", json::array()}};
  bool same_numbers = true;
  GraphComparison graphs;
  for (int s = 0; s < o.samples; ++s) {
    progress.say(fmt::format("sample {} of {}", s + 1, o.samples));
    ModelOptions sample = o.a;
    sample.seed += static_cast<std::uint64_t>(s) * 1000;
    const std::vector<Tensor> inputs = sample.values(a), inputs_b = pick(inputs, inputs_from);
    const auto expected = pick(session_a.run(inputs), outputs_from);
    for (const OutputCheck& c : check_outputs(*b.graph, session_b.run(inputs_b), expected, o.tolerance)) {
      table.add({fmt::format("seed {}", sample.seed), c.name, fmt::format("{:.3g}", c.difference.max_error),
                 fmt::format("{:.3g}", c.difference.relative()), c.ok ? "ok" : "DIFFERS"});
      same_numbers = same_numbers && c.ok;
      record["outputs"].push_back(to_json(c));
      record["outputs"].back()["sample"] = fmt::format("seed {}", sample.seed);
    }
    if (s == 0)
      graphs = compare_graphs(*specialize(*a.graph, bind_all(*a.graph, inputs)),
                              *specialize(*b.graph, bind_all(*b.graph, inputs_b)), inputs_from, outputs_from);
  }
  progress.say("");
  fmt::print("{}", table.str());
  const std::string but_for = graphs.but_for();
  if (const auto& d = graphs.difference) {
    fmt::print("the fused graphs differ: {}\n", d->why);
    print_node("a", d->a, d->place_a);
    print_node("b", d->b, d->place_b);
    if (!but_for.empty()) fmt::print("  up to there, also: {}\n", but_for);
  }
  const bool ok = same_numbers && !(o.strict && !graphs.same());
  record.update({{"same_numbers", same_numbers}, {"same_graph", graphs.same()}, {"ok", ok}});
  record["graph_difference"] = graphs.difference ? to_json(*graphs.difference) : json();
  record["graph_but_for"] = but_for;
  if (!o.json.empty()) write_text(o.json, json_text(record));
  fmt::print("{}, {}\n", same_numbers ? "same numbers" : "the numbers DIFFER",
             !graphs.alike() ? "another fused graph"
             : graphs.same() ? "same fused graph"
                             : "same fused graph but for " + but_for);
  return ok ? 0 : static_cast<int>(Exit::differs);
}

}  // namespace

void add_equiv(CLI::App& app, int& exit_code) {
  auto* verb = app.add_subcommand(
      "equiv", "Tell whether two models compute the same numbers, by the same fused graph");
  auto o = std::make_shared<EquivOptions>();
  o->a.add_model(*verb);
  verb->add_option("other", o->b, "The model to compare it with")->required()->check(model_path());
  o->a.add_run(*verb);
  verb->add_option("--samples", o->samples, "How many random samples")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  verb->add_option("--tolerance", o->tolerance, "Largest error allowed, as a share of the largest value")
      ->capture_default_str()
      ->check(number_from(0));
  verb->add_flag("--strict", o->strict, "Fail when the fused graphs differ, too");
  verb->add_option("--json", o->json, "Write what was found")->type_name("FILE");
  verb->footer("Example: tenon equiv traced.pt exported.pt --samples 5");
  verb->callback([&exit_code, o] { exit_code = equiv(*o); });
}

}  // namespace tenon::tools
