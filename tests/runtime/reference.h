// Runs graphs of the text form by plans and by the reference interpreter, and compares.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <random>
#include <regex>

#include "ir/evaluate.h"
#include "ir/parse.h"
#include "runtime/session.h"

namespace tenon::testing {

/// Floats in [-1, 1), integers in [0, 4), seeded.
inline Tensor random_tensor(DType dtype, const Index& shape, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Tensor t = Tensor::empty(dtype, shape);
  for_each_index(shape, [&](std::span<const std::int64_t> i) {
    if (is_float(dtype))
      t.set_double(i, uniform(generator));
    else
      t.set_int(i, static_cast<std::int64_t>(generator() % (is_bool(dtype) ? 2 : 4)));
  });
  return t;
}

/// The graph with random weights; variances (names ending in "var") are positive.
inline std::shared_ptr<Graph> graph_of(std::string_view text) {
  std::shared_ptr<Graph> graph = parse(text);
  unsigned seed = 1;
  for (const auto& weight : graph->weights()) {
    Tensor data = random_tensor(weight->dtype(), eval(weight->shape(), {}), seed++);
    if (weight->name().ends_with("var"))
      for_each_index(data.shape(), [&](auto i) { data.set_double(i, 1 + std::abs(data.get_double(i))); });
    graph->set_weight_data(weight.get(), data);
  }
  return graph;
}

/// Random inputs for values of the graph's symbols.
inline std::vector<Tensor> inputs_of(const Graph& graph, const Bindings& sizes, unsigned seed = 100) {
  std::vector<Tensor> inputs;
  for (const auto& p : graph.body().parameters())
    inputs.push_back(random_tensor(p->dtype(), eval(p->shape(), sizes), seed++));
  return inputs;
}

inline void expect_close(const Tensor& got, const Tensor& expected, double tolerance = 2e-5) {
  ASSERT_EQ(got.type_string(), expected.type_string());
  double scale = 1;
  double worst = 0;
  for_each_index(expected.shape(), [&](std::span<const std::int64_t> i) {
    const double e = expected.get_double(i), g = got.get_double(i);
    if (std::isfinite(e)) scale = std::max(scale, std::abs(e));
    const bool same = e == g || (std::isnan(e) && std::isnan(g));
    if (!same) worst = std::max(worst, std::isfinite(e - g) ? std::abs(e - g) : HUGE_VAL);
  });
  EXPECT_LE(worst, tolerance * scale);
}

/// The first candidates of all groups compute what is expected, the second ones, and so on.
inline void expect_same_with_every_candidate(const std::shared_ptr<Graph>& graph,
                                             std::span<const Tensor> inputs,
                                             std::span<const Tensor> expected) {
  std::size_t most = 1;
  for (std::size_t turn = 0; turn < most; ++turn) {
    Session session(graph, {.choose = [&](const Group&, std::span<const CandidateInfo> candidates) {
                      most = std::max(most, candidates.size());
                      return Decision{turn % candidates.size(), "its turn in a test"};
                    }});
    const auto got = session.run(inputs);
    constexpr double winograd = 2e-4;  // F(6,3) is ten times as far off as a product
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], winograd);
    if (::testing::Test::HasFailure()) FAIL() << session.plan_for(inputs)->text();
  }
}

/// Plans and the interpreter agree for every signature, on one thread and on two, at the first run and the
/// next, whichever candidates are taken.
inline void expect_same_as_reference(std::string_view text, std::vector<Bindings> signatures = {{}}) {
  const auto graph = graph_of(text);
  for (const int threads : {1, 2}) {
    Session session(graph, {.threads = threads});
    for (const Bindings& sizes : signatures) {
      const auto inputs = inputs_of(*graph, sizes);
      const auto expected = evaluate(*graph, inputs);
      for (int run = 0; run < 2; ++run) {
        const auto got = session.run(inputs);
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i]);
        if (::testing::Test::HasFailure()) FAIL() << session.plan_for(inputs)->text();
      }
      if (threads == 1) expect_same_with_every_candidate(graph, inputs, expected);
    }
  }
}

/// The plan of a graph for values of its symbols.
inline std::shared_ptr<const Plan> plan_of(std::string_view text, const Bindings& sizes = {}) {
  const auto graph = graph_of(text);
  Session session(graph);
  return session.plan_for(inputs_of(*graph, sizes));
}

/// The kernels of a plan's steps, in order.
inline std::vector<std::string> kernels_of(const Plan& plan) {
  std::vector<std::string> kernels;
  for (const auto& step : plan.steps) kernels.push_back(step->info.kernel);
  return kernels;
}

/// The same, whatever tiles a device's products take: "product of tiles i8".
inline std::vector<std::string> kinds_of(const Plan& plan) {
  static const std::regex tiles(R"(\d+x\d+( wgmma)?( tma)?( streamed| in \d+ parts)?)");
  std::vector<std::string> kinds = kernels_of(plan);
  for (std::string& kernel : kinds) kernel = std::regex_replace(kernel, tiles, "of tiles");
  return kinds;
}

/// The run throws an Error that says this.
inline void expect_refused(Session& session, std::span<const Tensor> inputs, std::string_view message) {
  try {
    session.run(inputs);
    FAIL() << "was not refused";
  } catch (const Error& e) { EXPECT_NE(e.message().find(message), std::string::npos) << e.message(); }
}

}  // namespace tenon::testing
