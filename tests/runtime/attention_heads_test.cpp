// Attention in which each head of keys and values serves several heads of queries.
#include <array>

#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

constexpr std::int64_t batch = 2;

struct Counts {
  std::int64_t heads, kv_heads;
};
constexpr Counts counts[] = {{1, 1}, {4, 1}, {4, 2}, {6, 3}, {8, 8}};

struct Rows {
  std::int64_t queries, keys;
  std::int64_t size = 64;
};
constexpr Rows tiles{70, 66}, few{3, 20, 24}, many_keys{1, 600};

enum class Mask { none, causal, of_keys, of_heads };
constexpr std::array masks{Mask::none, Mask::causal, Mask::of_keys, Mask::of_heads};

void check(DType dtype, Counts n, Rows rows, Mask mask, double tolerance, bool with_sink = false) {
  const Index q{batch, n.heads, rows.queries, rows.size}, k{batch, n.kv_heads, rows.keys, rows.size};
  std::vector<Tensor> inputs{random_tensor(dtype, q, 1), random_tensor(dtype, k, 2),
                             random_tensor(dtype, k, 3)};
  if (mask == Mask::of_keys) {
    Tensor seen = Tensor::zeros(DType::boolean, {batch, 1, 1, rows.keys});
    for (std::int64_t i = 0; i < batch * rows.keys; ++i)
      seen.set_int(Index{i / rows.keys, 0, 0, i % rows.keys}, i % 3 != 0);
    inputs.push_back(seen);
  }
  if (mask == Mask::of_heads)
    inputs.push_back(random_tensor(dtype, {batch, n.heads, rows.queries, rows.keys}, 4));
  if (with_sink) inputs.push_back(random_tensor(dtype, {n.heads}, 5));
  std::string parameters, operands;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    parameters += fmt::format("{}%x{}: {}", i ? ", " : "", i, inputs[i].type_string());
    operands += fmt::format("{}%x{}", i ? ", " : "", i);
  }
  SCOPED_TRACE(fmt::format("{} heads, {} of keys, {} queries, mask {}", n.heads, n.kv_heads, rows.queries,
                           static_cast<int>(mask)));
  expect_same_on(
      fmt::format("graph g({}) {{\n  %1 = attention({}{})\n  return %1\n}}\n", parameters,
                  operands + (with_sink ? ", softcap=0.5" : ""), mask == Mask::causal ? ", causal=true" : ""),
      inputs, tolerance);
}

TEST(AttentionHeads, ServeSeveralOfQueries) {
  for (const Counts n : counts)
    for (const Mask mask : masks)
      for (const Rows rows : {tiles, few}) check(DType::f32, n, rows, mask, 2e-5);
}

TEST(AttentionHeads, OfEachType) {
  for (const auto& [dtype, tolerance] : {std::pair{DType::f16, 4e-3}, {DType::bf16, 3e-2}})
    for (const Counts n : counts)
      for (const Mask mask : {Mask::causal, Mask::of_heads}) check(dtype, n, tiles, mask, tolerance);
}

TEST(AttentionHeads, OverKeysThatBlocksDivide) {
  for (const Counts n : counts)
    for (const Mask mask : {Mask::none, Mask::of_keys}) check(DType::f32, n, many_keys, mask, 2e-5);
}

TEST(AttentionHeads, WithCappedScoresBesideASink) {
  for (const Counts n : counts)
    for (const Rows rows : {tiles, few, many_keys})
      for (const Mask mask : {Mask::of_keys, Mask::of_heads}) check(DType::f32, n, rows, mask, 2e-5, true);
  check(DType::f16, counts[2], tiles, Mask::of_heads, 4e-3, true);
  check(DType::bf16, counts[2], tiles, Mask::of_keys, 3e-2, true);
}

// No device has a kernel for float64.
TEST(AttentionHeads, WrittenOut) {
  for (const Counts n : counts)
    for (const Mask mask : masks) check(DType::f64, n, few, mask, 1e-12);
  check(DType::f64, counts[2], few, Mask::of_keys, 1e-12, true);
}

// A cache and the new keys lie side by side; heads are read there.
TEST(AttentionHeads, AreNotCopied) {
  for (const auto& [dtype, queries] : {std::pair{DType::f32, 1}, {DType::f32, 40}, {DType::f64, 40}}) {
    const auto type = [dtype](std::string_view shape) { return fmt::format("{}[{}]", name(dtype), shape); };
    const auto graph =
        graph_of(fmt::format("graph g(%q: {0}, %past: {1}, %new: {1}) {{\n"
                             "  %1 = concat(%past, %new, axis=2) : {2}\n"
                             "  %2 = attention(%q, %1, %1) : {0}\n  return %2\n}}\n",
                             type(fmt::format("1,8,{},64", queries)), type("1,2,32,64"), type("1,2,64,64")));
    Session session(graph);
    const std::int64_t rows = queries;
    const std::vector<Tensor> inputs{random_tensor(dtype, {1, 8, rows, 64}, 1),
                                     random_tensor(dtype, {1, 2, 32, 64}, 2),
                                     random_tensor(dtype, {1, 2, 32, 64}, 3)};
    const auto plan = session.plan_for(inputs);
    for (const auto& step : plan->steps)
      for (const PlannedTensor& written : step->writes)
        EXPECT_LT(numel(written.shape()), 8 * 64 * 64) << plan->text();
    EXPECT_LE(plan->copies(), 2) << plan->text();  // of the concatenation
    expect_close(session.run(inputs)[0], evaluate(*graph, inputs)[0], 2e-5);
  }
}

}  // namespace
}  // namespace tenon::testing
