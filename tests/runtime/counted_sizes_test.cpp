// Operators whose results are as large as their data says: on every device those of the interpreter, and on
// devices with memory of their own operators with kernels around a number that the host reads.
#include "runtime/counted_sizes.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "tests/runtime/on_device.h"
#include "tests/runtime/reference.h"

namespace tenon::testing {
namespace {

std::string counted(std::string_view text) {
  const auto graph = graph_of(text);
  count_sizes(graph->body());
  verify(*graph);
  return print(*graph);
}

TEST(CountedSizes, PlacesAreWhereARunningSumPassesTheirNumbers) {
  EXPECT_EQ(counted(R"(graph g(%x: f32[3,N]) {
  %1 = nonzero(%x, count=?0) : i64[?0,2]
  return %1
}
)"),
            R"(graph g(%x: f32[3,N]) {
  %1 = not_equal(%x, 0.0) : bool[3,N]
  %2 = reshape(%1, shape=3*N) : bool[3*N]
  %3 = cast(%2, to=i64) : i64[3*N]
  %4 = sum(%3, axes=0) : i64[]
  %5 = count_up(%4, count=?0) : i64[?0]
  %6 = cumsum(%3) : i64[3*N]
  %7 = iota(size=?0) : i64[?0]
  %8 = search_sorted(%6, %7, right=true) : i64[?0]
  %9 = dim_value(value=N) : i64[]
  %10 = remainder(%8, %9) : i64[?0]
  %11 = reshape(%10, shape=[?0,1]) : i64[?0,1]
  %12 = floor_div(%8, %9) : i64[?0]
  %13 = reshape(%12, shape=[?0,1]) : i64[?0,1]
  %14 = concat(%13, %11, axis=1) : i64[?0,2]
  return %14
}
)");
}

TEST(CountedSizes, ACountIsReadByTheHostAndCountedByTheDevice) {
  EXPECT_EQ(counted(R"(graph g(%n: i64[]) {
  %1 = count_up(%n, count=?0) : i64[?0]
  %2 = mul(%1, 2) : i64[?0]
  return %2
}
)"),
            R"(graph g(%n: i64[]) {
  %1 = count_up(%n, count=?0) : i64[?0]
  %2 = iota(size=?0) : i64[?0]
  %3 = mul(%2, 2) : i64[?0]
  return %3
}
)");
}

TEST(CountedSizes, ComplexNumbersHaveNoOrder) {
  const std::string text = R"(graph g(%x: c64[N]) {
  %1, %2, %3 = unique(%x, count=?0) : i64[?0], i64[N], i64[?0]
  return %1, %2, %3
}
)";
  EXPECT_EQ(counted(text), text);
}

void expect_same(const std::string& text, std::span<const Tensor> inputs) {
  const auto graph = graph_of(text);
  Session session(graph);
  const auto expected = evaluate(*graph, inputs), got = session.run(inputs);
  for (std::size_t i = 0; i < got.size(); ++i) expect_close(got[i], expected[i], 0);
  const auto plan = session.plan_for(inputs);
  if (::testing::Test::HasFailure()) FAIL() << plan->text();
  if (default_device().shares_memory) return;
  for (const auto& step : plan->steps) EXPECT_NE(step->info.kind, StepKind::reference) << step->info.op;
}

TEST(DataSizes, NonzeroOfEveryRankAndDtype) {
  for (const Index& shape :
       {Index{}, Index{1}, Index{0}, Index{70}, Index{5, 9}, Index{0, 4}, Index{3, 1, 7}, Index{2, 3, 4, 5}})
    for (const DType dtype : {DType::boolean, DType::f32, DType::f16, DType::i64, DType::u8}) {
      SCOPED_TRACE(fmt::format("{}[{}]", name(dtype), fmt::join(shape, ",")));
      const Tensor x = random_tensor(is_float(dtype) ? DType::i32 : dtype, shape, 7).to(dtype);
      expect_same(fmt::format("graph g(%x: {0}[{1}]) {{\n  %1 = nonzero(%x, count=?0) : i64[?0,{2}]\n"
                              "  return %1\n}}\n",
                              name(dtype), fmt::join(shape, ","), shape.size()),
                  std::vector{x});
    }
}

TEST(DataSizes, RepeatsOfNoneOneAndMany) {
  for (const Index& shape : {Index{0}, Index{1}, Index{50}})
    for (const DType dtype : {DType::i64, DType::i32})
      expect_same(fmt::format("graph g(%x: {}[{}]) {{\n  %1 = repeat_each(%x, count=?0) : i64[?0]\n"
                              "  return %1\n}}\n",
                              name(dtype), shape[0]),
                  std::vector{random_tensor(dtype, shape, 3)});
}

TEST(DataSizes, NegativeRepeatsAreAnError) {
  Session session(
      graph_of("graph g(%x: i64[3]) {\n  %1 = repeat_each(%x, count=?0) : i64[?0]\n  return %1\n}\n"));
  try {
    session.run(std::vector{Tensor::of<std::int64_t>(DType::i64, {3}, {2, -1, 1})});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(e.message().find("repeats must not be negative"), std::string::npos) << e.message();
  }
}

// Few different values, so that many slices are equal.
TEST(DataSizes, UniqueInEveryOrder) {
  for (const std::string order : {"sorted", "appearance", "runs"})
    for (const Index& shape : {Index{0}, Index{1}, Index{60}, Index{40, 2}, Index{30, 2, 1}, Index{0, 3},
                               Index{4, 0}, Index{50, 3, 9}})
      for (const DType dtype : {DType::f32, DType::i64, DType::boolean, DType::u8}) {
        SCOPED_TRACE(fmt::format("{} {}[{}]", order, name(dtype), fmt::join(shape, ",")));
        const Tensor x = random_tensor(is_float(dtype) ? DType::i32 : dtype, shape, 11).to(dtype);
        expect_same(
            fmt::format("graph g(%x: {0}[{1}]) {{\n  %1, %2, %3 = unique(%x, order=\"{2}\", count=?0) : "
                        "i64[?0], i64[{3}], i64[?0]\n  return %1, %2, %3\n}}\n",
                        name(dtype), fmt::join(shape, ","), order, shape[0]),
            std::vector{x});
      }
}

// Slices that differ in one element, at any place.
TEST(DataSizes, UniqueOfWideSlices) {
  constexpr long slices = 20, size = 40;
  Tensor x = Tensor::zeros(DType::f32, {slices, size});
  for (long i = 0; i < slices; ++i) x.set_double(Index{i, i * 7 % 13 * 3}, i % 3 - 1.0);
  for (const std::string order : {"sorted", "appearance", "runs"})
    expect_same(fmt::format("graph g(%x: f32[20,40]) {{\n  %1, %2, %3 = unique(%x, order=\"{}\", count=?0) : "
                            "i64[?0], i64[20], i64[?0]\n  return %1, %2, %3\n}}\n",
                            order),
                std::vector{x});
}

TEST(DataSizes, NanIsUniqueEachTimeAndZerosAreEqual) {
  const Tensor x = Tensor::of<double>(DType::f32, {7}, {0.0, NAN, -0.0, 3.0, NAN, -HUGE_VAL, 3.0});
  for (const std::string order : {"sorted", "appearance", "runs"})
    expect_same(fmt::format("graph g(%x: f32[7]) {{\n  %1, %2, %3 = unique(%x, order=\"{}\", count=?0) : "
                            "i64[?0], i64[7], i64[?0]\n  return %1, %2, %3\n}}\n",
                            order),
                std::vector{x});
}

// Many elements: few of them different, and all.
TEST(DataSizes, UniqueOfEveryDtype) {
  for (const std::string order : {"sorted", "appearance", "runs"})
    for (const std::int64_t n : {16, 17, 65, 1000, 3000})
      for (const std::int64_t values : {2, 40, 100000})
        for (const DType dtype : {DType::u8, DType::i8, DType::i16, DType::i32, DType::i64, DType::f16,
                                  DType::bf16, DType::f32, DType::f64}) {
          SCOPED_TRACE(fmt::format("{} {}[{}] of {} values", order, name(dtype), n, values));
          Tensor x = random_integers(DType::i32, {n}, -values, values, 13).to(dtype);
          if (is_float(dtype) && values == 40)
            for (const std::int64_t i : {std::int64_t{0}, n / 2, n - 1}) x.set_double(Index{i}, NAN);
          expect_same(
              fmt::format("graph g(%x: {0}[{1}]) {{\n  %1, %2, %3 = unique(%x, order=\"{2}\", count=?0) : "
                          "i64[?0], i64[{1}], i64[?0]\n  return %1, %2, %3\n}}\n",
                          name(dtype), n, order),
              std::vector{x});
        }
}

TEST(DataSizes, UniqueWithoutClassesAndCounts) {
  for (const std::string order : {"sorted", "appearance", "runs"})
    for (const std::int64_t values : {2, 100000})
      expect_same(fmt::format("graph g(%x: f32[500]) {{\n  %1, %2, %3 = unique(%x, order=\"{}\", count=?0) : "
                              "i64[?0], i64[500], i64[?0]\n  return %1\n}}\n",
                              order),
                  std::vector{random_integers(DType::i32, {500}, 0, values, 3).to(DType::f32)});
}

TEST(DataSizes, OverlappingBoxesAreDropped) {
  for (const std::int64_t n : {0, 1, 2, 40})
    for (const DType dtype : {DType::f32, DType::f64})
      for (const double threshold : {0.0, 0.3, 1.0}) {
        Tensor corners = random_tensor(dtype, {n, 4}, 5);
        const Tensor scores = random_tensor(dtype, {n}, 6);
        for (std::int64_t i = 0; i < n; ++i)
          for (const std::int64_t axis : {2, 3})
            corners.set_double(Index{i, axis}, corners.get_double(Index{i, axis - 2}) + 0.5 +
                                                   std::abs(corners.get_double(Index{i, axis})));
        SCOPED_TRACE(fmt::format("{} {}[{},4]", threshold, name(dtype), n));
        expect_same(fmt::format("graph g(%b: {0}[{1},4], %s: {0}[{1}]) {{\n  %1 = suppress_overlaps(%b, %s, "
                                "threshold={2:.1f}, count=?0) : i64[?0]\n  return %1\n}}\n",
                                name(dtype), n, threshold),
                    std::vector{corners, scores});
      }
}

// The second size depends on what the first one lets through; both are in a region.
TEST(DataSizes, SizesOfSizesInABranch) {
  expect_same_as_reference(R"(graph g(%go: bool[], %x: f32[N]) {
  %1 = if(%go, %x) (%a: f32[N]) {
    %2 = greater(%a, 0.0) : bool[N]
    %3 = nonzero(%2, count=?0) : i64[?0,1]
    %4 = reshape(%3, shape=?0) : i64[?0]
    %5 = repeat_each(%4, count=?1) : i64[?1]
    %6 = sum(%5, axes=0) : i64[]
    return %6
  } (%b: f32[N]) {
    return 0:i64
  } : i64[]
  return %1
}
)",
                           {{{"N", 4}}, {{"N", 9}}});
}

}  // namespace
}  // namespace tenon::testing
