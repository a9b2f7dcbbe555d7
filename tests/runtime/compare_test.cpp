// What counts as a difference.
#include "runtime/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "ir/string_tensor.h"

namespace tenon {
namespace {

Tensor tensor(DType dtype, const std::vector<double>& values) {
  Tensor t = Tensor::empty(dtype, {static_cast<std::int64_t>(values.size())});
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.set_double(std::array{i}, values[static_cast<std::size_t>(i)]);
  return t;
}
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(Compare, FloatsMayDifferByAShareOfTheLargest) {
  const Difference d = compare(tensor(DType::f32, {1, 100.001}), tensor(DType::f32, {1, 100}));
  EXPECT_TRUE(d.within(1e-4));
  EXPECT_FALSE(d.within(1e-6));
  EXPECT_EQ(d.worst, Index{1});
}

TEST(Compare, IntegersMayNotDiffer) {
  EXPECT_FALSE(compare(tensor(DType::i64, {50004}), tensor(DType::i64, {50000})).within(1e-4));
  EXPECT_TRUE(compare(tensor(DType::i64, {50000}), tensor(DType::i64, {50000})).within(0));
  const Tensor large = Tensor::scalar(DType::i64, std::int64_t{1} << 60);
  const Tensor next = Tensor::scalar(DType::i64, (std::int64_t{1} << 60) + 1);
  EXPECT_EQ(compare(next, large).max_error, 1);
}

TEST(Compare, StringsMayNotDiffer) {
  const Tensor words = string_tensor({2}, std::vector<std::string>{"a", "b"});
  const Tensor others = string_tensor({2}, std::vector<std::string>{"a", "B"});
  EXPECT_TRUE(compare(words, words).within(0));
  EXPECT_FALSE(compare(words, others).within(1e9));
  EXPECT_EQ(compare(words, others).str(), "differs at [1]: \"b\", expected \"B\"");
  EXPECT_FALSE(compare(words, tensor(DType::f32, {1, 2})).comparable);
}

TEST(Compare, NotANumberEqualsItselfAndNothingElse) {
  const Tensor nan = tensor(DType::f32, {std::nan(""), inf});
  EXPECT_TRUE(compare(nan, nan).within(0));
  EXPECT_FALSE(compare(tensor(DType::f32, {1, inf}), nan).within(1));
  EXPECT_FALSE(compare(nan, tensor(DType::f32, {1, inf})).within(1));
  EXPECT_FALSE(compare(tensor(DType::f32, {inf}), tensor(DType::f32, {-inf})).within(1));
}

TEST(Compare, ComplexNumbersDifferByTheirDistance) {
  const auto tensor = [](const std::vector<std::complex<double>>& values, DType dtype) {
    Tensor t = Tensor::empty(DType::c128, {static_cast<std::int64_t>(values.size())});
    std::copy(values.begin(), values.end(), t.mutable_data<std::complex<double>>());
    return t.to(dtype);
  };
  const double nan = std::nan("");
  for (const DType dtype : {DType::c64, DType::c128}) {
    const Tensor z = tensor({{0.25, 10}, {-2, 0.5}}, dtype);
    EXPECT_EQ(compare(z, z).str(), "equal");
    const Difference real = compare(tensor({{0.5, 10}, {-2, 0.5}}, dtype), z);
    EXPECT_EQ(real.max_error, 0.25);
    EXPECT_FALSE(real.within(1e-2));
    const Difference imaginary = compare(tensor({{0.25, 10}, {-2, -0.5}}, dtype), z);
    EXPECT_EQ(imaginary.str(), "max error 1 of 10 (relative 0.1) at [1]: -2-0.5i, expected -2+0.5i");
    EXPECT_EQ(compare(tensor({{3, 4}}, dtype), tensor({{0, 0}}, dtype)).max_error, 5);
    EXPECT_LT(compare(tensor({{1, 1}}, dtype), tensor({{1, -1}}, dtype)).cosine, 0.1);
    const Tensor odd = tensor({{nan, 1}, {1, inf}, {2, 3}}, dtype);
    EXPECT_TRUE(compare(odd, odd).within(0));
    EXPECT_EQ(compare(odd, odd).compared, 1);
    EXPECT_FALSE(compare(tensor({{1, nan}}, dtype), tensor({{1, 1}}, dtype)).within(1e9));
  }
}

TEST(Compare, WithoutAFiniteValueNothingHasASize) {
  EXPECT_FALSE(compare(tensor(DType::f32, {1}), tensor(DType::f32, {inf})).within(1e9));
}

TEST(Compare, CountsThePairsInWhichANumberWasCompared) {
  const double nan = std::nan("");
  const auto same = [](const Tensor& t) { return compare(t, t); };
  struct Case {
    Tensor value;
    std::int64_t elements, compared;
    const char* said;
  };
  for (const auto& [value, elements, compared, said] : {
           Case{tensor(DType::f32, {1, nan, inf}), 3, 1, "equal"},
           Case{tensor(DType::f32, {nan, nan}), 2, 0, "nothing was compared: every value is NaN"},
           Case{tensor(DType::bf16, {inf, -inf}), 2, 0, "nothing was compared: every value is infinite"},
           Case{tensor(DType::f16, {nan, inf}), 2, 0, "nothing was compared: every value is NaN or infinite"},
           Case{tensor(DType::f64, {}), 0, 0, "nothing was compared: there are no elements"},
           Case{tensor(DType::i64, {}), 0, 0, "nothing was compared: there are no elements"},
           Case{tensor(DType::i64, {1, 2}), 2, 2, "equal"},
           Case{tensor(DType::boolean, {1, 0}), 2, 2, "equal"},
           Case{string_tensor({1}, std::vector<std::string>{"a"}), 1, 1, "equal"},
       }) {
    const Difference d = same(value);
    EXPECT_EQ(d.elements, elements);
    EXPECT_EQ(d.compared, compared);
    EXPECT_EQ(d.str(), said);
    EXPECT_TRUE(d.within(0)) << "equal as far as it goes: a Verdict says whether that is enough";
  }
  EXPECT_EQ(compare(tensor(DType::f32, {1, 2}), tensor(DType::f32, {nan, 2})).compared, 1);
}

}  // namespace
}  // namespace tenon
