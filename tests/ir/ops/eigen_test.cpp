// Eigenvalues of matrices that are not symmetric, by what defines them.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>

#include "base/error.h"
#include "ir/ops/linalg.h"

namespace tenon::test {
namespace {

using Number = std::complex<double>;

struct Eigen {
  std::int64_t n;
  std::vector<Number> values, vectors;

  explicit Eigen(const std::vector<double>& numbers)
      : n(static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(numbers.size()))))) {
    Tensor x = Tensor::empty(DType::f64, {n, n});
    std::copy(numbers.begin(), numbers.end(), x.mutable_data<double>());
    std::vector<Tensor> out = {Tensor::empty(DType::c128, {n}), Tensor::empty(DType::c128, {n, n})};
    Eig{}.reference(std::vector{x}, out);
    values.assign(out[0].data<Number>(), out[0].data<Number>() + n);
    vectors.assign(out[1].data<Number>(), out[1].data<Number>() + n * n);
  }
  Number vector(std::int64_t i, std::int64_t k) const { return vectors[static_cast<std::size_t>(i * n + k)]; }
};

void expect_eigen(const std::vector<double>& x, double tolerance = 1e-12) {
  const Eigen e(x);
  const auto at = [&](std::int64_t i, std::int64_t j) { return x[static_cast<std::size_t>(i * e.n + j)]; };
  double size = 0, trace = 0;
  for (const double number : x) size = std::max(size, std::fabs(number));
  for (std::int64_t i = 0; i < e.n; ++i) trace += at(i, i);
  const double allowed = tolerance * std::max(size, 1e-300) * static_cast<double>(e.n);
  Number sum = 0;
  for (std::int64_t k = 0; k < e.n; ++k) {
    const Number value = e.values[static_cast<std::size_t>(k)];
    sum += value;
    double squares = 0;
    for (std::int64_t i = 0; i < e.n; ++i) {
      Number product = 0;
      for (std::int64_t j = 0; j < e.n; ++j) product += at(i, j) * e.vector(j, k);
      EXPECT_LE(std::abs(product - value * e.vector(i, k)), allowed) << "vector " << k << " of " << e.n;
      squares += std::norm(e.vector(i, k));
    }
    EXPECT_NEAR(squares, 1, 1e-12);
    if (value.imag() == 0) continue;
    ASSERT_LT(k + 1, e.n);
    EXPECT_GT(value.imag(), 0);
    EXPECT_EQ(e.values[static_cast<std::size_t>(k + 1)], std::conj(value));
    sum += std::conj(value);
    ++k;
  }
  EXPECT_LE(std::abs(sum - trace), allowed * static_cast<double>(e.n));
}

TEST(Eigen, VectorsSatisfyTheirEquation) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::uniform_int_distribution<int> digit(-1, 1);
  for (std::int64_t n = 1; n <= 24; ++n)
    for (int trial = 0; trial < 6; ++trial) {
      std::vector<double> x(static_cast<std::size_t>(n * n));
      for (double& number : x)
        number = trial < 3 ? normal(random) * std::pow(10.0, trial * 4) : digit(random);
      expect_eigen(x);
    }
}

TEST(Eigen, MatricesThatAreHard) {
  expect_eigen({0});
  expect_eigen({0, 1, 0, 0});  // one vector for two values
  expect_eigen({0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_eigen({0, 0, 1, 1, 0, 0, 0, 1, 0});  // a permutation: shifts go round in circles
  expect_eigen({0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0});
  expect_eigen({0, -1, 0, 0, 1, 0, 0, 0, 0, 0, 0, -1, 0, 0, 1, 0});  // a pair twice
  expect_eigen({1, 1, 0, 0, 1, 1, 0, 0, 1}, 1e-10);
  expect_eigen({1e-200, 2e-200, -3e-200, 1e-200});
  expect_eigen({1e200, 2e200, -3e200, 1e200});
}

TEST(Eigen, RealValuesHaveNoImaginaryPart) {
  const Eigen e({2, 1, 0, 0, 3, 1, 0, 0, 5});
  EXPECT_EQ(e.values, (std::vector<Number>{2, 3, 5}));
  for (const Number& number : e.vectors) EXPECT_EQ(number.imag(), 0);
}

TEST(Eigen, RefusesWhatIsNotFinite) { EXPECT_THROW(Eigen({1, NAN, 0, 1}), Error); }

}  // namespace
}  // namespace tenon::test
