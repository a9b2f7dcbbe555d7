// What a test of passes says: before, after, or why not. Every rewritten graph is also run beside the
// original.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>

#include "fusion/fuse.h"
#include "ir/clone.h"
#include "ir/evaluate.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "runtime/compare.h"
#include "runtime/inputs.h"

namespace tenon::testing {

/// Weights get seeded data: variances and the like must be positive, so all are in (0.5, 1.5).
inline std::unique_ptr<Graph> graph_with_data(const std::string& text) {
  auto graph = parse(text);
  std::uint64_t seed = 100;
  for (const auto& w : graph->weights()) {
    Tensor t = random_tensor(w->dtype(), *known_sizes(w->shape()), {0, 3}, seed++);
    if (is_float(w->dtype()))
      for_each_index(t.shape(), [&](std::span<const std::int64_t> i) {
        t.set_double(i, 1 + std::clamp(t.get_double(i), -4.0, 4.0) / 8);
      });
    graph->set_weight_data(w.get(), t);
  }
  return graph;
}

inline std::vector<Tensor> run(const Graph& graph) {
  return evaluate(graph, input_values(graph, {}, 7, {{"N", 3}}));
}

inline void expect_equal_results(const Graph& before, const Graph& after, double tolerance = 2e-6) {
  const auto a = run(after), b = run(before);
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(compare(a[i], b[i]).within(tolerance)) << compare(a[i], b[i]).str();
}

/// The body's text without weights, sources and the lines around.
inline std::string body_text(const Graph& graph) {
  return print(graph, {.weights = false, .sources = false});
}

/// Fusing `before` gives `after` (both without weight declarations in the comparison); fusing again changes
/// nothing; results are equal.
inline FuseReport expect_fused(const std::string& before, const std::string& after,
                               FuseOptions options = {}) {
  const auto original = graph_with_data(before);
  const auto graph = clone(*original);
  FuseReport report = fuse(*graph, options);
  EXPECT_EQ(body_text(*graph), after);
  expect_equal_results(*original, *graph);
  const std::string once = print(*graph);
  fuse(*graph, options);
  EXPECT_EQ(print(*graph), once) << "fusing twice is not fusing once";
  return report;
}

/// All texts fuse to the same graph.
inline void expect_same(const std::vector<std::string>& texts) {
  std::string first;
  for (const std::string& text : texts) {
    const auto original = graph_with_data(text);
    const auto graph = clone(*original);
    fuse(*graph);
    expect_equal_results(*original, *graph);
    if (first.empty())
      first = body_text(*graph);
    else
      EXPECT_EQ(body_text(*graph), first);
  }
}

/// The rule refuses with this reason.
inline void expect_refused(const std::string& text, const std::string& rule, const std::string& reason) {
  const auto graph = graph_with_data(text);
  const FuseReport report = fuse(*graph);
  for (const RefusedMatch& r : report.refusals)
    if (r.rule == rule && r.reason.find(reason) != std::string::npos) return;
  std::string said;
  for (const RefusedMatch& r : report.refusals) said += "\n  " + r.rule + ": " + r.reason;
  ADD_FAILURE() << rule << " does not say '" << reason << "'; it says:" << said;
}

}  // namespace tenon::testing
