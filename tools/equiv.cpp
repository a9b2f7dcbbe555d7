// tenon equiv: do two models compute the same numbers, by the same fused graph?
#include <fmt/core.h>

#include <set>

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
#include "verify/verdict.h"

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

// The input types of a model that says them, in its order, for one that does not, but for those given.
ModelOptions with_types_of(const Model& model, ModelOptions options) {
  std::set<std::string> named;
  std::size_t in_order = 0;
  for (const InputArgument& a : parse_inputs(options.inputs)) {
    named.insert(a.name);
    in_order += a.name.empty();
  }
  for (const auto& p : model.graph->body().parameters()) {
    if (named.contains(p->name())) continue;
    if (in_order > 0)
      --in_order;
    else
      options.inputs.push_back(p->type().str());
  }
  return options;
}

// Both models; one whose file does not say the types of its inputs takes those of the other.
std::pair<Model, Model> open_both(const ModelOptions& a, const ModelOptions& b,
                                  const std::function<void(std::string_view)>& say) {
  std::optional<Model> first;
  try {
    first = a.open(say);
  } catch (const TypesUnknown&) {
    Model second = [&] {
      try {
        return b.open(say);
      } catch (const TypesUnknown&) { return a.open(say); }  // neither says them: the first one's error
    }();
    return {with_types_of(second, a).open(say), std::move(second)};
  }
  try {
    return {std::move(*first), b.open(say)};
  } catch (const TypesUnknown&) {
    Model second = with_types_of(*first, b).open(say);
    return {std::move(*first), std::move(second)};
  }
}

// The samples are the first model's: what the second one takes by another name is for the same input.
void take_too(Model& a, const Model& b, const std::vector<std::size_t>& inputs_from) {
  for (std::size_t i = 0; i < a.takers.size() && i < b.takers.size(); ++i)
    for (std::size_t p = 0; p < inputs_from.size() && a.takers[i].empty(); ++p)
      if (b.graph->body().parameter(p)->name() == b.takers[i])
        a.takers[i] = a.graph->body().parameter(inputs_from[p])->name();
}

// A size that varies in one model and is a number in the other is that number.
std::vector<std::string> common_sizes(const Graph& a, const Graph& b,
                                      const std::vector<std::size_t>& inputs) {
  std::vector<std::string> sizes;
  std::set<std::string> known;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Shape &varies = a.body().parameter(inputs[i])->shape(), &fixed = b.body().parameter(i)->shape();
    for (std::size_t axis = 0; axis < varies.size() && axis < fixed.size(); ++axis) {
      const auto symbols = varies[axis].symbols();
      if (symbols.size() != 1 || varies[axis] != Dim::symbol(symbols[0]) || !fixed[axis].is_known()) continue;
      if (known.insert(symbols[0]).second)
        sizes.push_back(fmt::format("{}={}", symbols[0], fixed[axis].value()));
    }
  }
  return sizes;
}

int equiv(const EquivOptions& o) {
  check_is_file(o.json);
  Progress progress;
  const auto say = [&](std::string_view what) { progress.say(what); };
  ModelOptions first = o.a;
  first.others_take = true;
  ModelOptions other = first;
  other.path = o.b;
  share_weights(first, other);
  auto [a, b] = open_both(first, other, say);
  o.a.check_taken({&a, &b});
  const auto inputs_from = match_inputs(*a.graph, *b.graph);
  take_too(a, b, inputs_from);
  const auto outputs_from = match_outputs(*a.graph, *b.graph);
  const auto sizes = o.a.sizes.empty() ? common_sizes(*a.graph, *b.graph, inputs_from) : o.a.sizes;
  Session session_a(a.graph, o.a.session_options(a)), session_b(b.graph, o.a.session_options(b));
  Table table({"sample", "output", "max error", "relative", ""});
  json record = {{"a", o.a.path}, {"b", o.b}, {"outputs", json::array()}};
  Verdict verdict;
  GraphComparison graphs;
  for (int s = 0; s < o.samples; ++s) {
    progress.say(fmt::format("sample {} of {}", s + 1, o.samples));
    ModelOptions sample = o.a;
    sample.sizes = sizes;
    sample.seed += static_cast<std::uint64_t>(s) * 1000;
    const std::vector<Tensor> inputs = sample.values(a), inputs_b = pick(inputs, inputs_from);
    const auto expected = pick(session_a.run(inputs), outputs_from);
    for (const OutputCheck& c :
         check_outputs(*b.graph, session_b.run(inputs_b), expected, o.tolerance, Draws::others)) {
      table.add({fmt::format("seed {}", sample.seed), c.name, fmt::format("{:.3g}", c.difference.max_error),
                 fmt::format("{:.3g}", c.difference.relative()), word(c)});
      verdict.add(c);
      record["outputs"].push_back(to_json(c));
      record["outputs"].back()["sample"] = fmt::format("seed {}", sample.seed);
    }
    if (s == 0)
      graphs = compare_graphs(*specialize(*a.graph, bind_all(*a.graph, inputs)),
                              *specialize(*b.graph, bind_all(*b.graph, inputs_b)), inputs_from, outputs_from);
  }
  progress.say("");
  fmt::print("{}", table.str());
  for (const std::string& note : verdict.notes()) fmt::print("note: {}\n", note);
  const std::string but_for = graphs.but_for();
  if (const auto& d = graphs.difference) {
    fmt::print("the fused graphs differ: {}\n", d->why);
    print_node("a", d->a, d->location_a);
    print_node("b", d->b, d->location_b);
    if (!but_for.empty()) fmt::print("  up to there, also: {}\n", but_for);
  }
  const std::string types = verdict.types_only();
  const bool same_numbers = verdict.verified() && verdict.compared_numbers();
  const std::string problem = verdict.differs()    ? ""
                              : verdict.verified() ? (same_numbers ? "" : types)
                                                   : verdict.problem();
  if (same_numbers && !types.empty()) fmt::print("note: {}\n", types);
  const bool ok = same_numbers && !(o.strict && !graphs.same());
  record.update(
      {{"same_numbers", same_numbers}, {"same_graph", graphs.same()}, {"ok", ok}, {"problem", problem}});
  record["graph_difference"] = graphs.difference ? to_json(*graphs.difference) : json();
  record["graph_but_for"] = but_for;
  if (!o.json.empty()) write_text(o.json, json_text(record));
  fmt::print("{}, {}\n",
             same_numbers       ? "same numbers"
             : !problem.empty() ? "NOT VERIFIED (" + problem + ")"
                                : "the numbers DIFFER",
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
  verb->add_option("--json", o->json, "Write what was found")->type_name(file_written);
  verb->footer("Example: tenon equiv traced.pt exported.pt --samples 5");
  verb->callback([&exit_code, o] { exit_code = equiv(*o); });
}

}  // namespace tenon::tools
