#include "verify/properties.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "ir/clone.h"
#include "ir/evaluate.h"
#include "ir/print.h"
#include "runtime/planner.h"
#include "runtime/walk.h"
#include "verify/batch.h"
#include "verify/verdict.h"

namespace tenon {
namespace {

using Rows = std::vector<std::int64_t>;
using Outcome = Property::Outcome;

// Rows that batches are made of; few models have another axis of this size.
constexpr std::int64_t wanted_rows = 5;

// One way of running a model.
struct Run {
  Inputs inputs;
  int threads = 1;
};

// Two runs, and which rows of their values are to be equal (empty: all, values without rows too).
struct Trial {
  std::string name;
  Run a, b;
  Rows rows_a = {}, rows_b = {};
};

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  const Tensor x = a.contiguous(), y = b.contiguous();
  return std::memcmp(x.bytes(), y.bytes(), static_cast<std::size_t>(x.numel()) * size_of(x.dtype())) == 0;
}

// Compares values of the two runs. nullopt: it has no rows.
class Relation {
 public:
  Relation(const Trial& trial, std::int64_t rows) : trial_(trial), rows_(rows) {}

  std::optional<Difference> operator()(const Tensor& a, const Tensor& b, bool has_rows) const {
    if (trial_.rows_a.empty()) return difference(a, b);
    if (!has_rows || !is_of_rows(a) || !is_of_rows(b)) return std::nullopt;
    return difference(take_rows(a, trial_.rows_a), take_rows(b, trial_.rows_b));
  }

 private:
  bool is_of_rows(const Tensor& t) const { return t.rank() > 0 && t.shape()[0] == rows_; }

  static Difference difference(const Tensor& a, const Tensor& b) {
    Difference d = compare(a, b);
    if (same_bits(a, b)) d.max_error = 0;  // what has no order too
    return d;
  }
  const Trial& trial_;
  std::int64_t rows_;
};

// A graph planned for a run, to be walked.
struct Walk {
  Walk(const Graph& graph, const Run& run, const Device& device)
      : open(device, run.threads),
        plan(Planner(specialize(graph, bind_all(graph, run.inputs)), open).plan()),
        walk(*plan, open, run.inputs) {}
  OpenDevice open;
  std::unique_ptr<const Plan> plan;
  PlanWalk walk;
};

class Checker {
 public:
  Checker(const Graph& graph, const Graph& reference, const Batch& batch, const PropertyOptions& options)
      : graph_(graph), reference_(reference), batch_(batch), options_(options) {}

  Property check(const Trial& trial) const {
    Property result{.name = trial.name};
    const Relation relation(trial, batch_.rows);
    Walk a(graph_, trial.a, options_.device), b(graph_, trial.b, options_.device);
    const std::string node = first_difference(a, b, relation);
    const auto x = a.walk.finish(), y = b.walk.finish();
    std::vector<std::optional<Difference>> differences;
    for (std::size_t i = 0; i < x.size(); ++i)
      differences.push_back(relation(x[i], y[i], trial.rows_a.empty() || batch_.output_has_rows[i]));
    if (!trial.rows_a.empty() &&
        std::any_of(differences.begin(), differences.end(), [&](const auto& d) { return differs(d); })) {
      const std::string mixing = excuse(trial, relation, differences);
      if (std::none_of(differences.begin(), differences.end(), [](const auto& d) { return d.has_value(); })) {
        result.outcome = Outcome::not_applicable;
        result.detail = "the model itself mixes rows, first at " + mixing;
        return result;
      }
    }
    std::string output;
    Verdict compared;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto& d = differences[i];
      if (d) compared.add({.name = output_name(graph_, i), .difference = *d, .ok = true});
      if (!d || (d->comparable && d->max_error <= result.difference.max_error)) continue;
      result.difference = *d;
      output = output_name(graph_, i);
    }
    if (output.empty()) {
      result.detail = compared.problem();
      if (!result.detail.empty()) result.outcome = Outcome::not_compared;
      return result;
    }
    const bool holds = result.difference.within(options_.tolerance.share);
    result.outcome = holds ? Outcome::rounding : Outcome::broken;
    if (!holds) result.detail = fmt::format("{}: {}; first at {}", output, result.difference.str(), node);
    return result;
  }

 private:
  bool differs(const std::optional<Difference>& d) const { return d && !d->within(options_.tolerance.share); }

  static std::string text(const Graph& graph, const Node& node) {
    const std::string whole = print(graph, node, {.sources = false});
    return whole.substr(0, whole.find('\n')) + (whole.find('\n') == whole.npos ? "" : " ...") +
           (node.source.empty() ? "" : " (" + node.source.str() + ")");
  }

  // The first node whose value differs, as the device runs it.
  std::string first_difference(Walk& a, Walk& b, const Relation& relation) const {
    std::string found;
    auto other = b.plan->graph->body().nodes().begin();
    for (const auto& node : a.plan->graph->body().nodes()) {
      const Node& twin = **other++;
      a.walk.run(*node);
      b.walk.run(twin);
      for (std::size_t i = 0; found.empty() && i < node->num_outputs(); ++i) {
        const auto x = a.walk.value(node->output(i)), y = b.walk.value(twin.output(i));
        if (x && y && differs(relation(*x, *y, true))) found = text(*a.plan->graph, *node);
      }
    }
    return found.empty() ? "the copy of the output" : found;
  }

  // Takes away the outputs whose rows the reference mixes as well. Where it does so first.
  std::string excuse(const Trial& trial, const Relation& relation,
                     std::vector<std::optional<Difference>>& differences) const {
    std::vector<std::pair<const Node*, std::vector<Tensor>>> values;
    const auto x =
        evaluate(reference_, trial.a.inputs, [&](const Node& node, std::span<const Tensor> outputs) {
          values.emplace_back(&node, std::vector<Tensor>(outputs.begin(), outputs.end()));
        });
    std::string found;
    std::size_t next = 0;
    const auto y =
        evaluate(reference_, trial.b.inputs, [&](const Node& node, std::span<const Tensor> outputs) {
          if (!found.empty()) return;
          // Another node than in the first run: a condition that all rows decide led elsewhere.
          const bool is_twin = next < values.size() && values[next].first == &node;
          for (std::size_t i = 0; is_twin && i < outputs.size(); ++i)
            if (differs(relation(values[next].second[i], outputs[i], true))) found = text(reference_, node);
          if (!is_twin) found = text(reference_, node);
          ++next;
        });
    for (std::size_t i = 0; i < x.size(); ++i)
      if (differs(relation(x[i], y[i], batch_.output_has_rows[i]))) differences[i].reset();
    return found;
  }

  const Graph& graph_;
  const Graph& reference_;
  const Batch& batch_;
  const PropertyOptions& options_;
};

// NaN in the first row of every input that has rows and can hold one; empty when there is none.
Inputs with_nan(const Batch& batch) {
  Inputs inputs = batch.inputs;
  bool any = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const DType dtype = inputs[i].dtype();
    if (!batch.input_has_rows[i] || (!is_float(dtype) && !is_complex(dtype))) continue;
    inputs[i] = inputs[i].clone();
    Tensor row = inputs[i].slice(0, 0, 1);
    row.copy_from(Tensor::scalar(row.dtype(), std::numeric_limits<double>::quiet_NaN()).expand(row.shape()));
    any = true;
  }
  return any ? inputs : Inputs{};
}

Property not_applicable(std::string name, std::string why) {
  return {.outcome = Outcome::not_applicable, .name = std::move(name), .detail = std::move(why)};
}

}  // namespace

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::identical: return "identical";
    case Outcome::rounding: return "within rounding";
    case Outcome::broken: return "BROKEN";
    case Outcome::not_compared: return "NOT COMPARED";
    default: return "not applicable";
  }
}

std::vector<Property> check_properties(const Graph& graph, const Graph& reference,
                                       const std::vector<Inputs>& samples, const PropertyOptions& options) {
  const Batch batch = batch_of(graph, samples, wanted_rows);
  const Checker checker(graph, reference, batch, options);
  const Inputs& all = batch.inputs.empty() ? samples.at(0) : batch.inputs;
  std::vector<Property> found = {
      checker.check({.name = "run twice", .a = {all}, .b = {all}}),
      checker.check({.name = fmt::format("1 thread and {}", options.threads),
                     .a = {all, 1},
                     .b = {all, options.threads}}),
  };
  const std::string same = "identical rows", permuted = "permuted rows", nan = "NaN in one row";
  if (!batch.problem.empty()) {
    for (const std::string& name : {same, permuted, nan})
      found.push_back(not_applicable(name, batch.problem));
    return found;
  }
  Rows every(static_cast<std::size_t>(batch.rows)), reversed;
  std::iota(every.begin(), every.end(), 0);
  reversed.assign(every.rbegin(), every.rend());
  const Rows first(every.size(), 0), others(every.begin() + 1, every.end());
  Rows last_first = others;
  last_first.push_back(0);
  const Run equal{batch.take(first)};
  found.push_back(
      checker.check({.name = same, .a = equal, .b = equal, .rows_a = every, .rows_b = last_first}));
  found.push_back(checker.check({.name = permuted,
                                 .a = {batch.inputs},
                                 .b = {batch.take(reversed)},
                                 .rows_a = reversed,
                                 .rows_b = every}));
  const Inputs spoiled = with_nan(batch);
  found.push_back(
      spoiled.empty()
          ? not_applicable(nan, "no input with rows is of floats")
          : checker.check(
                {.name = nan, .a = {batch.inputs}, .b = {spoiled}, .rows_a = others, .rows_b = others}));
  return found;
}

}  // namespace tenon
