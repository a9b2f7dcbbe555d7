// How given values become the inputs of a graph.
#include "runtime/inputs.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "ir/parse.h"

namespace tenon {
namespace {

Tensor number_for(const std::string& dtype, Tensor number) {
  const auto graph = parse("graph g(%n: " + dtype + "[]) {\n  return %n\n}\n");
  return input_values(*graph, {{.name = "n", .value = std::move(number), .is_number = true}}, 0)[0];
}

// Lengths are compared with the places of their axis: some sequences end early, some do not, none is beyond.
TEST(Inputs, RandomLengthsLieWithinTheirAxis) {
  const auto graph = parse(R"(graph g(%x: f32[N,S], %n: i32[N]) {
  %1 = iota(size=S) : i64[S]
  %2 = cast(%n, to=i64) : i64[N]
  %3 = reshape(%2, shape=[N,1]) : i64[N,1]
  %4 = less(%1, %3) : bool[N,S]
  return %4
}
)");
  const Tensor lengths = input_values(*graph, {}, 1, {{"N", 200}, {"S", 5}})[1];
  std::set<std::int64_t> seen;
  for (std::int64_t i = 0; i < 200; ++i) seen.insert(lengths.get_int({{i}}));
  EXPECT_EQ(seen, (std::set<std::int64_t>{0, 1, 2, 3, 4, 5}));
}

IntegerRange range_of(const std::string& nodes) {
  const auto graph = parse("graph g(%n: i64[], %x: f32[8,2]) {\n" + nodes + "}\n");
  return integer_range(*graph->body().parameter(0));
}

TEST(Inputs, RandomIntegersHoldWhatTheModelChecks) {
  const IntegerRange both = range_of(R"(  %1 = reshape(%n, shape=[]) : i64[]
  %2 = greater_equal(%1, 3:i64) : bool[]
  check(%2, message="n >= 3")
  %3 = less(5:i64, %1) : bool[]
  %4 = logical_not(%3) : bool[]
  return %4
)");
  EXPECT_EQ(both.min, 3) << "the second comparison is not checked";
  EXPECT_GT(both.max, 3);
  const IntegerRange above = range_of(R"(  %1 = dim_value(value=8) : i64[]
  %2 = greater(%1, %n) : bool[]
  check(%2, message="n < 8")
  %3 = count_up(%n, count=?0) : i64[?0]
  return %3
)");
  EXPECT_EQ(above.min, 1) << "a size";
  EXPECT_EQ(above.max, 7);
  const IntegerRange nothing = range_of("  %1 = cast(%n, to=f32) : f32[]\n  return %1\n");
  EXPECT_EQ(nothing.min, 0);
  EXPECT_EQ(nothing.max, 1);
}

TEST(Inputs, RandomNumbersOfStepsLetALoopTakeOne) {
  const IntegerRange steps = range_of(R"(  %1 = less(0, %n) : bool[]
  %2 = loop(%1, %x, %n, carried=1) (%i: i64[], %y: f32[8,2], %m: i64[]) {
    %3 = add(%y, 1.0) : f32[8,2]
    %4 = add(%i, 1) : i64[]
    %5 = less(%4, %m) : bool[]
    return %5, %3
  } : f32[8,2]
  return %2
)");
  EXPECT_EQ(steps.min, 1);
  EXPECT_GT(steps.max, 1);
}

TEST(Inputs, WrittenNumbersTakeTheInputsDtype) {
  EXPECT_EQ(number_for("f32", Tensor::scalar(DType::f64, 0.1)).get_double(), 0.1f);
  EXPECT_EQ(number_for("f32", Tensor::scalar(DType::i64, std::int64_t{3})).get_double(), 3);
  EXPECT_EQ(number_for("i64", Tensor::scalar(DType::f64, 3.0)).get_int(), 3);
  EXPECT_EQ(number_for("i32", Tensor::scalar(DType::boolean, std::int64_t{1})).get_int(), 1);
}

TEST(Inputs, ANumberThatTheDtypeCannotHoldIsRefused) {
  for (const double n : {2.7, 1e30, std::nan("")})
    EXPECT_THROW(number_for("i64", Tensor::scalar(DType::f64, n)), Error) << n;
  EXPECT_THROW(number_for("bool", Tensor::scalar(DType::i64, std::int64_t{2})), Error);
  EXPECT_THROW(number_for("u8", Tensor::scalar(DType::i64, std::int64_t{300})), Error);
}

TEST(Inputs, FilesKeepTheirDtype) {
  const auto graph = parse("graph g(%n: i64[]) {\n  return %n\n}\n");
  const Tensor value = Tensor::scalar(DType::f64, 3.0);
  EXPECT_EQ(input_values(*graph, {{.name = "n", .value = value}}, 0)[0].dtype(), DType::f64);
}

}  // namespace
}  // namespace tenon
