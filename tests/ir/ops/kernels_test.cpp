// References of the kernels on small examples. What is not plain arithmetic was computed with PyTorch.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tests/ir/ops/cases.h"

namespace tenon::test {
namespace {

const std::string matrix = "f32[2,3] 1 2 3 4 5 6";

TEST(Kernels, MoveElements) {
  expect_all({
      {"reshape(%0, shape=[3,2])", {matrix}, {"f32[3,2] 1 2 3 4 5 6"}},
      {"permute(%0, axes=[1,0])", {matrix}, {"f32[3,2] 1 4 2 5 3 6"}},
      {"slice(%0, axis=1, start=2, end=-1, step=-2)", {matrix}, {"f32[2,2] 3 1 6 4"}},
      {"expand(%0, shape=[2,2,1])", {"i64[2,1] 7 8"}, {"i64[2,2,1] 7 8 7 8"}},
      {"concat(%0, %1, %0, axis=1)", {matrix, "f32[2,1] 8 9"}, {"f32[2,7] 1 2 3 8 1 2 3 4 5 6 9 4 5 6"}},
      {"flip(%0, axes=[0,1])", {matrix}, {"f32[2,3] 6 5 4 3 2 1"}},
      {"pad(%0, pads=[1,-1,0,2], value=9.0)", {matrix}, {"f32[3,4] 9 9 9 9 2 3 9 9 5 6 9 9"}},
      {"pad(%0, pads=[0,2,0,1], mode=\"reflect\")", {matrix}, {"f32[2,6] 3 2 1 2 3 2 6 5 4 5 6 5"}},
      {"pad(%0, pads=[0,1,1,0], mode=\"replicate\")", {matrix}, {"f32[3,4] 1 1 2 3 4 4 5 6 4 4 5 6"}},
      {"pad(%0, pads=[0,1,0,2], mode=\"circular\")", {matrix}, {"f32[2,6] 3 1 2 3 1 2 6 4 5 6 4 5"}},
  });
}

TEST(Kernels, ReadBitsAsAnotherType) {
  expect_all({
      {"bitcast(%0, to=i32)", {"f32[3] 1 -2 0"}, {"i32[3] 1065353216 -1073741824 0"}},
      {"bitcast(%0, to=f32)", {"i32[2] 1065353216 2139095040"}, {"f32[2] 1 inf"}},
      {"bitcast(%0, to=i64)", {"f64[1] 1"}, {"i64[1] 4607182418800017408"}},
      {"bitcast(%0, to=i16)", {"bf16[2] 1 -1"}, {"i16[2] 16256 -16512"}},
      {"bitcast(%0, to=u8)", {"bool[2] 1 0"}, {"u8[2] 1 0"}},
      {"bitcast(%0, to=u8)", {"i16[2] 258 3"}, {"u8[2,2] 2 1 3 0"}},
      {"bitcast(%0, to=bool)", {"i16[2] 256 0"}, {"bool[2,2] 0 1 0 0"}},
      {"bitcast(%0, to=i16)", {"u8[2,2] 2 1 3 0"}, {"i16[2] 258 3"}},
      {"bitcast(%0, to=bool)", {"u8[3] 2 0 1"}, {"bool[3] 1 0 1"}},
  });
}

TEST(Kernels, Reduce) {
  expect_all({
      {"sum(%0, axes=[1])", {matrix}, {"f32[2] 6 15"}},
      {"sum(%0, axes=[0], keepdim=true)", {matrix}, {"f32[1,3] 5 7 9"}},
      {"sum(%0, axes=[0])", {"i8[2] 100 100"}, {"i8[] -56"}},
      {"mean(%0, axes=[0,1])", {matrix}, {"f32[] 3.5"}},
      {"mean(%0, axes=[0])", {"f32[0,2] 0"}, {"f32[2] nan nan"}},
      {"prod(%0, axes=[1])", {matrix}, {"f32[2] 6 120"}},
      {"amax(%0, axes=[0])", {"f32[2,2] 1 nan 3 2"}, {"f32[2] 3 nan"}},
      {"amin(%0, axes=[0])", {"bool[2,2] 1 1 0 1"}, {"bool[2] 0 1"}},
      {"any(%0, axes=[1])", {"f32[2,2] 0 nan 0 0"}, {"bool[2] 1 0"}},
      {"all(%0, axes=[1])", {"i64[2,2] 1 2 0 3"}, {"bool[2] 1 0"}},
      {"argmax(%0)", {"f32[4] 1 3 3 2"}, {"i64[] 1"}},
      {"argmin(%0)", {"f32[4] 1 nan -1 nan"}, {"i64[] 1"}},
      {"cumsum(%0)", {"f32[3,2] 1 2 3 4 5 6"}, {"f32[3,2] 1 2 4 6 9 12"}},
      {"cumprod(%0, axis=1)", {matrix}, {"f32[2,3] 1 2 6 4 20 120"}},
  });
}

TEST(Kernels, SumManyHalvesWithoutLosingThem) {
  expect_all({{"sum(%0, axes=[0])", {"f16[4096] 1"}, {"f16[] 4096"}},
              {"mean(%0, axes=[0])", {"f16[70000] 2"}, {"f16[] 2"}}});
}

TEST(Kernels, SortWithNanLast) {
  expect_all({
      {"sort(%0)", {"f32[5] 2 nan 1 2 0"}, {"f32[5] 0 1 2 2 nan", "i64[5] 4 2 0 3 1"}},
      {"sort(%0, descending=true)", {"f32[5] 2 nan 1 2 0"}, {"f32[5] nan 2 2 1 0", "i64[5] 1 0 3 2 4"}},
      {"topk(%0, k=2, axis=1)", {"i64[2,3] 1 3 2 9 9 7"}, {"i64[2,2] 3 2 9 9", "i64[2,2] 1 2 0 1"}},
      {"topk(%0, k=1, largest=false)", {"f32[3] nan 4 5"}, {"f32[1] 4", "i64[1] 1"}},
  });
}

TEST(Kernels, RunningExtremesNameTheLastPlace) {
  expect_all({
      {"cummax(%0)", {"f32[5] 1 3 3 nan 4"}, {"f32[5] 1 3 3 nan nan", "i64[5] 0 1 2 3 3"}},
      {"cummin(%0, axis=1)", {"i64[2,3] 2 1 3 5 5 4"}, {"i64[2,3] 2 1 1 5 5 4", "i64[2,3] 0 1 1 0 1 2"}},
      {"logcumsumexp(%0)", {"f64[3] 0 0 1000"}, {"f64[3] 0 0.6931471805599453 1000"}},
  });
}

TEST(Kernels, SearchSortedRows) {
  expect_all({
      {"search_sorted(%0, %1)", {"f32[4] 1 2 2 3", "f32[5] 0 2 2.5 9 nan"}, {"i64[5] 0 1 3 4 4"}},
      {"search_sorted(%0, %1, right=true)", {"i64[2,2] 1 3 2 4", "i64[2,1] 3 1"}, {"i64[2,1] 2 0"}},
  });
}

TEST(Kernels, ModeIsTheSmallestOfTheMostFrequent) {
  expect_all({
      {"mode(%0, axis=1)", {"i64[2,5] 2 1 2 1 3 4 5 6 6 6"}, {"i64[2] 1 6", "i64[2] 3 4"}},
      {"mode(%0)", {"f32[3] nan 2 nan"}, {"f32[] 2", "i64[] 1"}},
  });
}

TEST(Kernels, LinearEquations) {
  const std::string a = "f64[2,2] 4 2 2 5";
  expect_all({
      {"cholesky(%0)", {a}, {"f64[2,2] 2 0 1 2"}},
      {"solve(%0, %1)", {"f64[2,2] 0 2 1 1", "f64[2,1] 4 5"}, {"f64[2,1] 3 2"}},
      {"triangular_solve(%0, %1, upper=true)", {"f64[2,2] 2 1 9 4", "f64[2,1] 4 8"}, {"f64[2,1] 1 2"}},
      {"triangular_solve(%0, %1, unit=true)", {"f64[2,2] 9 9 2 9", "f64[2,1] 1 5"}, {"f64[2,1] 1 3"}},
      {"determinant(%0)", {"f64[2,2] 0 2 3 4"}, {"f64[] -6", "f64[] -1", "f64[] 1.791759469228055"}},
      {"qr(%0)", {"f64[2,1] 3 4"}, {"f64[2,1] -0.6 -0.8", "f64[1,1] -5"}},
      {"qr(%0, complete=true)", {"f64[2,1] 3 4"}, {"f64[2,2] -0.6 -0.8 -0.8 0.6", "f64[2,1] -5 0"}},
  });
}

// By hand, with NumPy and with SciPy.
TEST(Kernels, Factorisations) {
  const std::string a = "f64[2,2] 1 2 4 6", tall = "f64[2,1] 3 4";
  expect_all({
      {"lu(%0)", {a}, {"f64[2,2] 4 6 0.25 0.5", "i32[2] 2 2"}},
      {"lu(%0)", {"f64[2,2] 0 0 0 0"}, {"f64[2,2] 0 0 0 0", "i32[2] 1 2"}},
      {"pivot_rows(%0, rows=3)", {"i32[2] 3 3"}, {"i64[3] 2 0 1"}},
      {"reflections(%0)", {tall}, {"f64[2,1] -5 0.5", "f64[1] 1.6"}},
      {"reflection_product(%0, %1)", {"f64[2,1] -5 0.5", "f64[1] 1.6"}, {"f64[2,1] -0.6 -0.8"}},
      {"reflection_product(%0, %1, complete=true)",
       {"f64[2,1] -5 0.5", "f64[1] 1.6"},
       {"f64[2,2] -0.6 -0.8 -0.8 0.6"}},
      {"svd(%0)", {tall}, {"f64[2,1] 0.6 0.8", "f64[1] 5", "f64[1,1] 1"}},
      {"svd(%0)", {"f64[2,2] 0 0 0 0"}, {"f64[2,2] 1 0 0 1", "f64[2] 0 0", "f64[2,2] 1 0 0 1"}},
      {"eigh(%0)", {"f64[2,2] 2 9 0 1"}, {"f64[2] 1 2", "f64[2,2] 0 1 1 0"}},
      {"ldl_factor(%0)", {"f64[3,3] 0 9 9 2 0 9 1 4 8"}, {"f64[3,3] 0 0 0 2 0 0 2 0.5 4", "i32[3] -2 -2 3"}},
      {"ldl_factor(%0)",
       {"f64[3,3] 0 9 9 2 0 9 8 4 1"},
       {"f64[3,3] 0 0 0 8 1 0 0.46875 0.25 -1.9375", "i32[3] -3 -3 3"}},
      {"ldl_solve(%0, %1, %2)",
       {"f64[3,3] 0 0 0 8 1 0 0.46875 0.25 -1.9375", "i32[3] -3 -3 3", "f64[3,1] 1 2 3"},
       {"f64[3,1] 0.5483870967741935 -0.4032258064516129 0.22580645161290322"}},
      {"matrix_exp(%0)", {"f64[2,2] 0 3 0 0"}, {"f64[2,2] 1 3 0 1"}},
      {"matrix_exp(%0)",
       {"f64[2,2] 1 2 3 4"},
       {"f64[2,2] 51.968956198705 74.73656456700328 112.10484685050491 164.07380304920997"}},
      {"gcd(%0, %1)", {"i64[4] 12 -8 0 7", "i64[] 6"}, {"i64[4] 6 2 6 1"}},
  });
}

TEST(Kernels, FourierTransformOfAnyLength) {
  const auto transformed = [](const std::string& call, const std::string& shape, const std::string& real,
                              const std::string& imag) {
    const auto graph = parse(fmt::format(
        "graph t(%a: f64{0}, %b: f64{0}) {{\n  %1 = complex(%a, %b) : c128{0}\n  %2 = {1} : c128{0}\n"
        "  %3 = real(%2) : f64{0}\n  %4 = imag(%2) : f64{0}\n  return %3, %4\n}}\n",
        shape, call));
    const std::vector<Tensor> inputs = {tensor("f64" + shape + " " + real),
                                        tensor("f64" + shape + " " + imag)};
    return evaluate(*graph, inputs);
  };
  const auto odd = transformed("fft(%1)", "[3]", "1 2 -1", "0 1 3");
  expect_near(odd[0], tensor("f64[3] 2.0 -1.2320508075688772 2.232050807568877"), 1e-14, "odd");
  expect_near(odd[1], tensor("f64[3] 4.0 -4.598076211353316 0.598076211353316"), 1e-14, "odd");
  const auto even = transformed("fft(%1, inverse=true)", "[4]", "1 2 -1 5", "0");
  expect_near(even[0], tensor("f64[4] 7.0 2.0 -7.0 2.0"), 1e-14, "even");
  expect_near(even[1], tensor("f64[4] 0.0 -3.0 0.0 3.0"), 1e-14, "even");
  const auto real = transformed("fft(%1)", "[1,6]", "-1 2 -3 1 5 -7", "0");
  EXPECT_EQ(real[1].get_double(std::array<std::int64_t, 2>{0, 0}), 0);
  EXPECT_FALSE(std::signbit(real[1].get_double(std::array<std::int64_t, 2>{0, 3})));
}

TEST(Kernels, AdaptiveMaximaNameTheirPlaces) {
  expect_all({{"adaptive_max_pool_indices(%0, output=[2])",
               {"f32[1,1,4] 1 3 2 nan"},
               {"f32[1,1,2] 3 nan", "i64[1,1,2] 1 3"}}});
}

// Values computed with SciPy.
TEST(Kernels, SpecialFunctions) {
  const auto of = [](const std::string& function, const std::string& x, const std::string& expected) {
    expect_all({{"special(%0, function=\"" + function + "\")", {"f64[2] " + x}, {"f64[2] " + expected}}});
  };
  of("airy_ai", "1 -3", "0.13529241631288147 -0.37881429367765806");
  of("bessel_j0", "0.5 12", "0.938469807240813 0.047689310796833536");
  of("bessel_y1", "0.5 12", "-1.4714723926702433 -0.05709921826089652");
  of("i0e", "-2 800", "0.308508322553671 0.014106945005869183");
  of("i1", "-2 0", "-1.5906368546373288 0");
  of("k0e", "0.25 800", "1.9793338485985683 0.04430442748664601");
  of("erfcx", "-1 30", "5.008980080762283 0.018795888861416754");
  of("log_ndtr", "-40 1", "-804.6084420137539 -0.17275377902344988");
  of("ndtri", "1e-300 0.7", "-37.0470962993612 0.5244005127080407");
  of("trigamma", "0.25 -1.5", "17.197329154507113 9.379246644989124");
}

TEST(Kernels, SpecialFunctionsOfTwoOperands) {
  const auto of = [](const std::string& function, const std::string& x, const std::string& y,
                     const std::string& expected) {
    expect_all({{"special(%0, %1, function=\"" + function + "\")",
                 {"f64[2] " + x, "f64[2] " + y},
                 {"f64[2] " + expected}}});
  };
  of("chebyshev_t", "0.5 2", "3 4", "-1 97");
  of("shifted_chebyshev_u", "0.25 1", "2 2", "0 3");
  of("hermite_h", "1 2", "3 -1", "-4 0");
  of("legendre_p", "0.5 3", "2 0", "-0.125 1");
  of("zeta", "2 3", "1 0.5", "1.6449340668482264 8.414398322117159");
  of("gammainc", "0.5 30", "2 25", "0.9544997361036415 0.1821039159774551");
  of("gammaincc", "0.5 0", "2 1", "0.04550026389635842 0");
  of("gammainc", "nan inf", "0 nan", "0 0");
  of("gammaincc", "1000000000 20000000", "1000000000 20020000", "0.4999957947791884 3.897823595162173e-06");
}

TEST(Kernels, ReadByIndex) {
  expect_all({
      {"index_select(%0, %1)", {matrix, "i64[2,1] 1 0"}, {"f32[2,1,3] 4 5 6 1 2 3"}},
      {"index_select(%0, %1, axis=1)", {matrix, "i32[2] 2 2"}, {"f32[2,2] 3 3 6 6"}},
      {"gather(%0, %1, axis=1)", {matrix, "i64[2,2] 0 2 1 1"}, {"f32[2,2] 1 3 5 5"}},
      {"index(%0, %1, %2, axes=[0,1])", {matrix, "i64[2,1] 0 -1", "i64[2] 0 -1"}, {"f32[2,2] 1 3 4 6"}},
      // Axes that are not adjacent: the places come in front.
      {"index(%0, %1, %2, axes=[0,2])",
       {"f32[2,2,2] 1 2 3 4 5 6 7 8", "i64[3] 0 1 1", "i64[3] 1 0 1"},
       {"f32[3,2] 2 4 5 7 6 8"}},
      {"index(%0, %1, axes=[1])", {matrix, "i64[2] 2 0"}, {"f32[2,2] 3 1 6 4"}},
      {"one_hot(%0, classes=3)", {"i64[2] 2 0"}, {"i64[2,3] 0 0 1 1 0 0"}},
  });
}

TEST(Kernels, WriteByIndex) {
  const std::vector<std::string> operands = {"f32[4] 1 2 3 4", "i64[3] 1 3 1", "f32[3] 10 20 30"};
  const auto scatter = [&](const std::string& how, const std::string& expected) {
    expect_all({{"scatter(%0, %1, %2" + how + ")", operands, {expected}}});
  };
  scatter("", "f32[4] 1 30 3 20");
  scatter(", reduce=\"sum\"", "f32[4] 1 42 3 24");
  scatter(", reduce=\"sum\", include_self=false", "f32[4] 1 40 3 20");
  scatter(", reduce=\"prod\"", "f32[4] 1 600 3 80");
  scatter(", reduce=\"amax\"", "f32[4] 1 30 3 20");
  scatter(", reduce=\"amin\"", "f32[4] 1 2 3 4");
  scatter(", reduce=\"mean\"", "f32[4] 1 14 3 12");
  expect_all({
      {"scatter(%0, %1, %2, reduce=\"mean\")", {"i64[1] -4", "i64[1] 0", "i64[1] 1"}, {"i64[1] -2"}},
      {"index_put(%0, %1, %2, axes=[1])", {matrix, "f32[2,1] 8 9", "i64[2] 0 -1"}, {"f32[2,3] 8 2 8 9 5 9"}},
      {"index_put(%0, %1, %2, axes=[1], accumulate=true)",
       {matrix, "f32[] 1", "i64[2] 0 0"},
       {"f32[2,3] 3 2 3 6 5 6"}},
      {"index_add(%0, %1, %2, axis=1)",
       {matrix, "i64[2] 2 2", "f32[2,2] 1 2 3 4"},
       {"f32[2,3] 1 2 6 4 5 13"}},
      {"index_add(%0, %1, %2, axis=1, from_end=true)",
       {matrix, "i64[2] -1 2", "f32[2,2] 1 2 3 4"},
       {"f32[2,3] 1 2 6 4 5 13"}},
  });
}

TEST(Kernels, SayWhichIndexIsOutOfRange) {
  const auto message = [](const std::string& call, const std::vector<std::string>& operands,
                          const char* result) {
    try {
      run(call, operands, {result});
    } catch (const Error& e) { return e.message(); }
    return std::string("no error");
  };
  EXPECT_EQ(message("index_select(%0, %1)", {"f32[10,2] 0", "i64[1] 10"}, "f32[1,2]"),
            "index_select: index 10 is out of range for axis 0 of size 10");
  EXPECT_EQ(message("index_select(%0, %1)", {"f32[10,2] 0", "i64[1] -1"}, "f32[1,2]"),
            "index_select: index -1 is out of range for axis 0 of size 10");
  EXPECT_EQ(message("index(%0, %1, axes=[1])", {"f32[10,2] 0", "i64[1] -3"}, "f32[10,1]"),
            "index: index -3 is out of range for axis 1 of size 2");
  EXPECT_EQ(message("index_add(%0, %1, %2)", {"f32[4,2] 0", "i64[1] -1", "f32[1,2] 1"}, "f32[4,2]"),
            "index_add: index -1 is out of range for axis 0 of size 4");
  EXPECT_EQ(
      message("index_add(%0, %1, %2, from_end=true)", {"f32[4,2] 0", "i64[1] -5", "f32[1,2] 1"}, "f32[4,2]"),
      "index_add: index -5 is out of range for axis 0 of size 4");
  EXPECT_EQ(message("one_hot(%0, classes=3)", {"i64[1] 3"}, "i64[1,3]"),
            "one_hot: index 3 is out of range for 3 classes");
}

TEST(Kernels, MultiplyMatrices) {
  expect_all({
      {"matmul(%0, %1)", {matrix, "f32[3,2] 1 0 0 1 1 1"}, {"f32[2,2] 4 5 10 11"}},
      {"matmul(%0, %1)", {"i32[2,1,2] 1 2 3 4", "i32[2,1] 10 1"}, {"i32[2,1,1] 12 34"}},
      {"linear(%0, %1, %2)", {matrix, "f32[2,3] 1 0 0 0 1 1", "f32[2] 10 20"}, {"f32[2,2] 11 25 14 31"}},
      {"linear(%0, %1)", {"f32[3] 1 2 3", "f32[1,3] 1 1 1"}, {"f32[1] 6"}},
  });
}

TEST(Kernels, Convolve) {
  expect_all({
      {"conv(%0, %1, %2)", {"f32[1,1,4] 1 2 3 4", "f32[1,1,2] 1 -1", "f32[1] 10"}, {"f32[1,1,3] 9 9 9"}},
      {"conv(%0, %1, stride=2, pad=1, dilation=2)",
       {"f32[1,1,4] 1 2 3 4", "f32[1,1,2] 1 10"},
       {"f32[1,1,2] 20 42"}},
      {"conv(%0, %1, pad=[0,1])", {"f32[1,1,2] 1 2", "f32[1,1,2] 1 10"}, {"f32[1,1,2] 21 2"}},
      {"conv(%0, %1, groups=2)", {"f32[1,2,2] 1 2 3 4", "f32[2,1,1] 10 100"}, {"f32[1,2,2] 10 20 300 400"}},
      {"conv(%0, %1, pad=1)", {"f32[1,1,2,2] 1 2 3 4", "f32[1,1,3,3] 1"}, {"f32[1,1,2,2] 10 10 10 10"}},
      {"conv(%0, %1)", {"f32[1,1,2,2,2] 1", "f32[1,1,2,2,2] 3"}, {"f32[1,1,1,1,1] 24"}},
      {"conv_transpose(%0, %1, stride=2)",
       {"f32[1,1,2] 1 2", "f32[1,1,3] 1 10 100"},
       {"f32[1,1,5] 1 10 102 20 200"}},
      {"conv_transpose(%0, %1, stride=2, pad=1, output_pad=1)",
       {"f32[1,1,2] 1 2", "f32[1,1,3] 1 10 100"},
       {"f32[1,1,4] 10 102 20 200"}},
      {"conv_transpose(%0, %1, %2, groups=2)",
       {"f32[1,2,1] 1 2", "f32[2,1,2] 1 2 3 4", "f32[2] 10 20"},
       {"f32[1,2,2] 11 12 26 28"}},
  });
}

TEST(Kernels, Pool) {
  const std::string line = "f32[1,1,5] 1 5 2 nan 3";
  expect_all({
      {"max_pool(%0, kernel=2, stride=2)", {line}, {"f32[1,1,2] 5 nan"}},
      {"max_pool(%0, kernel=2, stride=2, ceil=true)", {line}, {"f32[1,1,3] 5 nan 3"}},
      {"max_pool(%0, kernel=2, stride=2, pad=1)", {"f32[1,1,3] -1 -2 -3"}, {"f32[1,1,2] -1 -2"}},
      {"max_pool(%0, kernel=2, dilation=2)", {"i64[1,1,4] 1 2 0 4"}, {"i64[1,1,2] 1 4"}},
      {"max_pool_indices(%0, kernel=[1,2], stride=1)",
       {"f32[1,1,2,3] 1 2 3 6 6 4"},
       {"f32[1,1,2,2] 2 3 6 6", "i64[1,1,2,2] 1 2 3 4"}},
      {"avg_pool(%0, kernel=2, pad=1)", {"f32[1,1,2] 2 4"}, {"f32[1,1,3] 1 3 2"}},
      {"avg_pool(%0, kernel=2, pad=1, count_include_pad=false)", {"f32[1,1,2] 2 4"}, {"f32[1,1,3] 2 3 4"}},
      {"avg_pool(%0, kernel=2, pad=1, divisor=1)", {"f32[1,1,2] 2 4"}, {"f32[1,1,3] 2 6 4"}},
      // The last window reaches beyond the padding: what lies there does not count.
      {"avg_pool(%0, kernel=3, stride=2, pad=1, ceil=true)", {"f32[1,1,4] 3 6 9 12"}, {"f32[1,1,3] 3 9 6"}},
      {"adaptive_avg_pool(%0, output=3)", {"f32[1,1,5] 1 2 3 4 5"}, {"f32[1,1,3] 1.5 3 4.5"}},
      {"adaptive_max_pool(%0, output=2)", {"f32[1,1,3] 1 9 2"}, {"f32[1,1,2] 9 9"}},
  });
}

TEST(Kernels, Interpolate) {
  const std::string line = "f32[1,1,3] 0 10 40";
  expect_all(
      {
          {"interpolate(%0, output=5)", {line}, {"f32[1,1,5] 0 0 10 10 40"}},
          {"interpolate(%0, output=5, mode=\"nearest_exact\")", {line}, {"f32[1,1,5] 0 0 10 40 40"}},
          // Of maps, PyTorch takes the element itself, or its half, wherever the size stays or doubles.
          {"interpolate(%0, output=3, scales=1.2)", {line}, {"f32[1,1,3] 0 0 10"}},
          {"interpolate(%0, output=[2,4], scales=[1.2,2.4])",
           {"f32[1,1,2,2] 0 1 2 3"},
           {"f32[1,1,2,4] 0 0 1 1 2 2 3 3"}},
          {"interpolate(%0, output=6, mode=\"linear\")", {line}, {"f32[1,1,6] 0 2.5 7.5 17.5 32.5 40"}},
          {"interpolate(%0, output=5, mode=\"linear\", align_corners=true)",
           {line},
           {"f32[1,1,5] 0 5 10 25 40"}},
          // The given factor 2.5 sets the places, not 7 / 3.
          {"interpolate(%0, output=7, mode=\"linear\", scales=2.5)", {line}, {"f32[1,1,7] 0 1 5 9 19 31 40"}},
          {"interpolate(%0, output=[2,4], mode=\"cubic\")",
           {"f32[1,1,2,2] 0 1 2 3"},
           {"f32[1,1,2,4] -0.10546875 0.2265625 0.7734375 1.10546875 1.89453125 2.2265625 2.7734375 "
            "3.10546875"}},
      },
      1e-5);
}

TEST(Kernels, CreateTensors) {
  expect_all({
      {"full(shape=[2], value=3.0, dtype=i64)", {"f32[] 0"}, {"i64[2] 3 3"}},
      {"iota(size=4, dtype=f32)", {"f32[] 0"}, {"f32[4] 0 1 2 3"}},
  });
  const auto sizes =
      evaluate(*graph_of("dim_value(value=3*N+1)", {"f32[N]"}, {"i64[]"}), std::vector{tensor("f32[5] 0")});
  EXPECT_EQ(sizes[0].get_int(), 16);
}

}  // namespace
}  // namespace tenon::test
