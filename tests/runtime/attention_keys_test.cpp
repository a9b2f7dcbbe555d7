// Attention of a few queries over many keys, which blocks of a GPU divide among them.
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

void check(DType dtype, std::int64_t queries, std::int64_t keys, std::string_view attributes,
           const std::optional<Tensor>& mask = {}, double tolerance = 2e-5) {
  const Index q{1, 2, queries, 64}, k{1, 2, keys, 64};
  std::vector<Tensor> inputs{random_tensor(dtype, q, 1), random_tensor(dtype, k, 2),
                             random_tensor(dtype, k, 3)};
  std::string parameters = fmt::format("%q: {}, %k: {}, %v: {}", inputs[0].type_string(),
                                       inputs[1].type_string(), inputs[2].type_string());
  if (mask) {
    inputs.push_back(*mask);
    parameters += fmt::format(", %m: {}", mask->type_string());
  }
  expect_same_on(fmt::format("graph g({}) {{\n  %1 = attention(%q, %k, %v{}{})\n  return %1\n}}\n",
                             parameters, mask ? ", %m" : "", attributes),
                 inputs, tolerance);
}

TEST(AttentionKeys, AreDivided) {
  for (const std::int64_t keys : {300, 512, 1000, 5003})
    for (const std::int64_t queries : {1, 3}) check(DType::f32, queries, keys, "");
  check(DType::f32, 4, 3000, ", causal=true");
  check(DType::f16, 1, 2000, "", {}, 2e-3);
}

TEST(AttentionKeys, MayAllBeMasked) {
  constexpr std::int64_t keys = 2000;
  Tensor mask = Tensor::zeros(DType::boolean, {1, 1, 2, keys});
  check(DType::f32, 2, keys, "", mask);
  for (std::int64_t key = 100; key < 130; ++key) mask.set_int(Index{0, 0, 1, key}, 1);
  check(DType::f32, 2, keys, "", mask);
}

}  // namespace
}  // namespace tenon::testing
