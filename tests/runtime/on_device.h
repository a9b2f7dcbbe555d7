// Runs a graph on the device of the tests (TENON_DEVICE) and compares with the reference interpreter.
#pragma once
#include "tests/runtime/reference.h"

namespace tenon::testing {

/// Nothing of the graph runs on the interpreter.
inline void expect_no_reference(Session& session, std::span<const Tensor> inputs) {
  const auto plan = session.plan_for(inputs);
  for (const auto& step : plan->steps) EXPECT_NE(step->info.kind, StepKind::reference) << plan->text();
}

/// Of the device of the tests.
inline bool has_kernels_of_cpu() { return default_device().name == "cpu" || default_device().name == "far"; }

/// On a GPU nothing of the graph may fall back to the host.
inline void expect_own_kernels(Session& session, std::span<const Tensor> inputs) {
  if (has_kernels_of_cpu()) return;
  expect_no_reference(session, inputs);
}

/// Two runs on these inputs give what the interpreter gives.
inline void expect_same_on(std::string_view text, const std::vector<Tensor>& inputs, double tolerance = 2e-5,
                           bool by_own_kernels = true) {
  const auto graph = graph_of(text);
  const auto expected = evaluate(*graph, inputs);
  Session session(graph);
  if (by_own_kernels) expect_own_kernels(session, inputs);
  for (int run = 0; run < 2; ++run) {
    const auto got = session.run(inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], tolerance);
  }
  if (::testing::Test::HasFailure()) FAIL() << text << session.plan_for(inputs)->text();
}

/// Integers in [low, high), seeded.
inline Tensor random_integers(DType dtype, const Index& shape, std::int64_t low, std::int64_t high,
                              unsigned seed) {
  std::mt19937_64 generator(seed);
  Tensor t = Tensor::empty(dtype, shape);
  for_each_index(shape, [&](std::span<const std::int64_t> i) {
    t.set_int(i, low + static_cast<std::int64_t>(generator() % static_cast<std::uint64_t>(high - low)));
  });
  return t;
}

inline void expect_fault(std::string_view text, const std::vector<Tensor>& inputs, std::string_view said) {
  Session session(graph_of(text));
  for (int run = 0; run < 2; ++run) try {
      session.run(inputs);
      ADD_FAILURE() << "no error; expected: " << said;
    } catch (const Error& e) { EXPECT_NE(std::string(e.what()).find(said), std::string::npos) << e.what(); }
}

}  // namespace tenon::testing
