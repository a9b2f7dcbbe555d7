// Cumulative sums, products and extremes: every length and type against the interpreter.
#include "tests/runtime/on_device.h"

namespace tenon::testing {
namespace {

void check_scan(const char* op, DType dtype, const Index& shape, int axis, double tolerance = 2e-5) {
  const bool best = std::string_view(op) == "cummax" || std::string_view(op) == "cummin";
  const std::string type = type_string(dtype, shape);
  const std::string results = best ? fmt::format("{}, {}", type, type_string(DType::i64, shape)) : type;
  expect_same_on(fmt::format("graph g(%x: {0}) {{\n  %1{4} = {1}(%x, axis={2}) : {3}\n  return %1{4}\n}}\n",
                             type, op, axis, results, best ? ", %2" : ""),
                 {random_tensor(dtype, shape, 1)}, tolerance);
}

constexpr const char* ops[] = {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"};

TEST(Scan, EveryLengthOfRows) {
  for (const std::int64_t length : {1, 3, 4, 31, 33, 128, 257, 512, 513, 1024, 5000})
    check_scan("cumsum", DType::f32, {3, length}, 1);
}

TEST(Scan, EveryOperatorByRowsAndColumns) {
  for (const char* op : ops)
    for (const Index& shape : {Index{2, 700, 1}, Index{300, 33, 1}, Index{2, 200, 5}, Index{1, 9, 300}})
      check_scan(op, DType::f32, shape, 1);
}

TEST(Scan, LongLinesInParts) {
  for (const char* op : ops) {
    check_scan(op, DType::f32, {20000}, 0, 1e-4);
    check_scan(op, DType::f32, {700, 3}, 0);
  }
  check_scan("cumsum", DType::i64, {9001}, 0);
}

TEST(Scan, EveryType) {
  for (const char* op : {"cumsum", "cummax"}) {
    for (const DType dtype : {DType::f64, DType::i64, DType::i32, DType::u8, DType::i8})
      for (const int axis : {0, 1}) check_scan(op, dtype, {7, 70}, axis);
    for (const DType dtype : {DType::f16, DType::bf16}) check_scan(op, dtype, {2, 40}, 1, 2e-2);
  }
}

TEST(Scan, SpecialValues) {
  for (const char* op : ops)
    for (const Index& shape : {Index{1, 600}, Index{600, 1}, Index{40, 2}}) {
      Tensor x = random_tensor(DType::f32, shape, 1);
      const auto set = [&](std::int64_t i, double v) { x.set_double(Index{i / shape[1], i % shape[1]}, v); };
      set(3, HUGE_VAL);
      set(5, HUGE_VAL);
      set(40, std::nan(""));
      set(41, -HUGE_VAL);
      const std::string type = type_string(DType::f32, shape);
      const bool best = op[3] == 'm';
      for (const int axis : {0, 1})
        expect_same_on(
            fmt::format("graph g(%x: {0}) {{\n  %1{3} = {1}(%x, axis={2}) : {0}{4}\n  return %1{3}\n}}\n",
                        type, op, axis, best ? ", %2" : "",
                        best ? ", " + type_string(DType::i64, shape) : ""),
            {x});
    }
}

TEST(Scan, ViewsAreReadWhereTheyLie) {
  expect_same_on(
      "graph g(%x: f32[9,6,5]) {\n  %1 = permute(%x, axes=[2,0,1]) : f32[5,9,6]\n"
      "  %2 = cumsum(%1, axis=1) : f32[5,9,6]\n  %3 = cumsum(%1, axis=2) : f32[5,9,6]\n"
      "  return %2, %3\n}\n",
      {random_tensor(DType::f32, {9, 6, 5}, 1)});
}

}  // namespace
}  // namespace tenon::testing
