// Attention of many queries, which tiles of queries and keys compute on a GPU.
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

void check(DType dtype, std::int64_t keys, std::int64_t size, std::int64_t value_size,
           std::string_view attributes, double tolerance = 2e-5) {
  constexpr std::int64_t queries = 70;
  const std::vector<Tensor> inputs{random_tensor(dtype, {2, 3, queries, size}, 1),
                                   random_tensor(dtype, {2, 3, keys, size}, 2),
                                   random_tensor(dtype, {2, 3, keys, value_size}, 3)};
  expect_same_on(
      fmt::format("graph g(%q: {}, %k: {}, %v: {}) {{\n  %1 = attention(%q, %k, %v{})\n  return "
                  "%1\n}}\n",
                  inputs[0].type_string(), inputs[1].type_string(), inputs[2].type_string(), attributes),
      inputs, tolerance);
}

TEST(AttentionTiles, OfEachScale) {
  for (const char* scale : {"-0.3", "0.0", "0.5"})
    for (const auto& [dtype, tolerance] : {std::pair{DType::f32, 2e-5}, {DType::f16, 3e-3}})
      check(dtype, 130, 64, 64, fmt::format(", scale={}", scale), tolerance);
}

TEST(AttentionTiles, OfLongRowsAndLongerValues) {
  for (const std::int64_t value_size : {128, 144, 160, 256}) check(DType::f16, 90, 128, value_size, "", 3e-3);
  check(DType::f32, 90, 96, 160, "");
}

}  // namespace
}  // namespace tenon::testing
