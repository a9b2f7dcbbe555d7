// Spectra of matrices of many kinds: the results make the matrix again, vectors are orthonormal, values stand
// in their order and are the same without vectors.
#include "kernels/cpu/spectra.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class Spectra : public OnEveryIsa {};
TENON_EVERY_ISA(Spectra);

/// Memory of NaN, of whose end nobody writes.
class Room {
 public:
  explicit Room(std::size_t size) : size_(size), bytes_(size + line + guard, std::byte{0xff}) {}
  ~Room() {
    EXPECT_TRUE(
        std::all_of(data() + size_, data() + size_ + guard, [](std::byte b) { return b == std::byte{0xff}; }))
        << "of " << size_ << " bytes";
  }
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    return bytes_.data() + (line - address % line) % line;
  }

 private:
  static constexpr std::size_t line = 64, guard = 256;
  std::size_t size_;
  std::vector<std::byte> bytes_;
};

template <class T>
struct Dense {
  long rows, columns;
  std::vector<T> numbers;
  Dense(long rows_, long columns_)
      : rows(rows_), columns(columns_), numbers(static_cast<std::size_t>(rows_ * columns_)) {}
  T& operator()(long i, long j) { return numbers[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(long i, long j) const {
    return static_cast<double>(numbers[static_cast<std::size_t>(i * columns + j)]);
  }
  double largest() const {
    double most = 0;
    for (const T x : numbers) most = std::max(most, std::abs(static_cast<double>(x)));
    return most;
  }
};

/// The largest difference of columns^T columns, or rows rows^T, and the identity.
template <class T>
double skewness(const Dense<T>& m, bool of_columns) {
  double worst = 0;
  const long count = of_columns ? m.columns : m.rows, length = of_columns ? m.rows : m.columns;
  for (long a = 0; a < count; ++a)
    for (long b = 0; b <= a; ++b) {
      double dot = a == b ? -1 : 0;
      for (long i = 0; i < length; ++i) dot += of_columns ? m(i, a) * m(i, b) : m(a, i) * m(b, i);
      worst = std::isnan(dot) ? HUGE_VAL : std::max(worst, std::abs(dot));
    }
  return worst;
}

/// The largest element of x - left diag(values) right, next to x's.
template <class T>
double residual(const Dense<T>& x, const std::function<double(long, long)>& left,
                const std::vector<T>& values, const std::function<double(long, long)>& right) {
  double worst = 0;
  const double size = std::max(x.largest(), std::numeric_limits<double>::min());
  for (long i = 0; i < x.rows; ++i)
    for (long j = 0; j < x.columns; ++j) {
      double sum = 0;
      for (long k = 0; k < static_cast<long>(values.size()); ++k)
        sum += left(i, k) * (static_cast<double>(values[static_cast<std::size_t>(k)]) / size) * right(k, j);
      const double rest = std::abs(sum - x(i, j) / size);
      worst = std::isnan(rest) ? HUGE_VAL : std::max(worst, rest);
    }
  return worst;
}

struct Kind {
  const char* name;
  std::function<double(long i, long j, double random)> element;
};

double graded(long i, long j, double random) {
  return random * std::pow(10, -0.2 * static_cast<double>(i + j));
}

const Kind kinds[] = {
    {"random", [](long, long, double random) { return random; }},
    {"zero", [](long, long, double) { return 0.0; }},
    {"of rank one", [](long, long, double) { return 1.0; }},
    {"two values", [](long i, long j, double) { return i == j ? (i % 2 == 0 ? 2.0 : -1.0) : 0.0; }},
    {"clustered", [](long i, long j, double random) { return (i == j ? 1.0 : 0.0) + 1e-9 * random; }},
    {"graded", graded},
    {"graded from below",
     [](long i, long j, double random) {
       return graded(60 - std::min(i, 60L), 60 - std::min(j, 60L), random);
     }},
    {"a one beside what is nothing",
     [](long i, long j, double) {
       const bool is_near = i > 0 && j > 0 && std::abs(i - j) <= 1;
       return i + j == 0 ? 1.0 : is_near ? (i == j ? 2e-310 : -1e-310) : 0.0;
     }},
    {"with columns of zeros", [](long, long j, double random) { return j % 3 == 1 ? 0.0 : random; }},
    {"tridiagonal", [](long i, long j, double) { return i == j                 ? 2.0
                                                        : std::abs(i - j) == 1 ? -1.0
                                                                               : 0.0; }},
    {"glued",
     [](long i, long j, double) {
       return i == j                 ? static_cast<double>(std::abs(i % 21 - 10))
              : std::abs(i - j) == 1 ? (std::max(i, j) % 21 ? 1.0 : 1e-8)
                                     : 0.0;
     }},
};

template <class T>
Dense<T> matrix_of(const Kind& kind, long rows, long columns, double scale, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Dense<T> x(rows, columns);
  for (long i = 0; i < rows; ++i)
    for (long j = 0; j < columns; ++j)
      x(i, j) = static_cast<T>(kind.element(i, j, normal(generator)) * scale);
  return x;
}

template <class T>
double tolerance(long n) {
  const double rounding = std::numeric_limits<T>::epsilon() * std::sqrt(static_cast<double>(n) + 8);
  return (sizeof(T) == 8 ? 60 : 15) * rounding;
}

template <class T>
void check_eigh(const Dense<T>& x) {
  const long n = x.rows;
  Dense<T> given = x, mirrored = x, vectors(n, n);
  for (long i = 0; i < n; ++i)
    for (long j = 0; j < i; ++j) {
      mirrored(j, i) = mirrored(i, j);
      given(j, i) = std::numeric_limits<T>::quiet_NaN();  // nobody reads it
    }
  std::vector<T> values(static_cast<std::size_t>(n)), alone = values;
  Room room(spectrum_room(n, n, false)), other(spectrum_room(n, n, false));
  find_eigh(given.numbers.data(), n, values.data(), vectors.numbers.data(), room.data());
  find_eigh(given.numbers.data(), n, alone.data(), static_cast<T*>(nullptr), other.data());
  const double allowed = tolerance<T>(n), size = x.largest() * static_cast<double>(n);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], alone[i], allowed * size);
  EXPECT_LE(skewness(vectors, true), allowed);
  const auto left = [&](long i, long k) { return std::as_const(vectors)(i, k); };
  const auto right = [&](long k, long j) { return std::as_const(vectors)(j, k); };
  EXPECT_LE(residual(mirrored, left, values, right), allowed * std::sqrt(static_cast<double>(n)));
}

template <class T>
void check_svd(const Dense<T>& x, bool complete) {
  const long k = std::min(x.rows, x.columns);
  Dense<T> u(x.rows, complete ? x.rows : k), v(complete ? x.columns : k, x.columns);
  std::vector<T> values(static_cast<std::size_t>(k)), alone = values;
  Room room(spectrum_room(x.rows, x.columns, complete)), other(spectrum_room(x.rows, x.columns, false));
  find_svd(x.numbers.data(), x.rows, x.columns, complete, u.numbers.data(), values.data(), v.numbers.data(),
           room.data());
  find_singular_values(x.numbers.data(), x.rows, x.columns, alone.data(), other.data());
  const double allowed = tolerance<T>(std::max(x.rows, x.columns)),
               size = x.largest() * static_cast<double>(k);
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), std::greater<>{}));
  EXPECT_GE(values.back(), 0);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], alone[i], allowed * size);
  EXPECT_LE(skewness(u, true), allowed);
  EXPECT_LE(skewness(v, false), allowed);
  const auto left = [&](long i, long a) { return std::as_const(u)(i, a); };
  const auto right = [&](long a, long j) { return std::as_const(v)(a, j); };
  EXPECT_LE(residual(x, left, values, right), allowed * std::sqrt(static_cast<double>(k)));
}

template <class T>
void check_all(const std::vector<long>& sizes, double scale) {
  for (const Kind& kind : kinds)
    for (const long n : sizes) {
      SCOPED_TRACE(std::string(kind.name) + " " + std::to_string(n) + " times 10^" +
                   std::to_string(std::log10(scale)));
      check_eigh(matrix_of<T>(kind, n, n, scale, 1));
      check_svd(matrix_of<T>(kind, n, n, scale, 2), false);
      if (n > 65) continue;
      for (const bool complete : {false, true}) {
        check_svd(matrix_of<T>(kind, n + 7, n, scale, 3), complete);
        check_svd(matrix_of<T>(kind, n, n + 7, scale, 4), complete);
        check_svd(matrix_of<T>(kind, 2 * n + 3, n, scale, 5), complete);
        check_svd(matrix_of<T>(kind, n, 2 * n + 3, scale, 6), complete);
      }
      if (::testing::Test::HasFailure()) return;
    }
}

const std::vector<long> many_sizes{1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33, 64, 65, 100},
    few_sizes{1, 3, 8, 33, 67};

TEST_P(Spectra, OfDoubles) { check_all<double>(many_sizes, 1); }
TEST_P(Spectra, OfFloats) { check_all<float>(many_sizes, 1); }
TEST_P(Spectra, OfHugeNumbers) { check_all<double>(few_sizes, 1e303); }
TEST_P(Spectra, OfTinyNumbers) { check_all<double>(few_sizes, 1e-290); }
TEST_P(Spectra, OfHugeFloats) { check_all<float>(few_sizes, 1e30); }

TEST_P(Spectra, OfManyRandomMatrices) {
  for (unsigned seed = 0; seed < 300; ++seed)
    for (const long n : {2, 3, 4, 6, 8, 11}) {
      check_eigh(matrix_of<double>(kinds[0], n, n, 1, seed));
      check_svd(matrix_of<double>(kinds[0], n, n, 1, seed), false);
      check_eigh(matrix_of<float>(kinds[0], n, n, 1, seed));
      check_svd(matrix_of<float>(kinds[0], n, n, 1, seed), false);
      if (::testing::Test::HasFailure()) return;
    }
}

// Halves of halves are put together, and values that are nearly the same left where they are.
TEST_P(Spectra, OfLargeMatrices) {
  constexpr long n = 170;
  for (const Kind& kind : kinds) {
    SCOPED_TRACE(kind.name);
    check_eigh(matrix_of<double>(kind, n, n, 1, 1));
    check_eigh(matrix_of<float>(kind, n, n, 1, 1));
    check_svd(matrix_of<float>(kind, n, n, 1, 2), false);
  }
}

// Of a bidiagonal matrix's small values every digit is right.
TEST_P(Spectra, SmallSingularValuesAreExact) {
  constexpr long n = 40;
  Dense<double> x(n, n);
  for (long i = 0; i < n; ++i) x(i, i) = std::pow(10, -0.3 * static_cast<double>(i));
  std::vector<double> values(n);
  Room room(spectrum_room(n, n, false));
  find_singular_values(x.numbers.data(), n, n, values.data(), room.data());
  for (long i = 0; i < n; ++i) {
    const double expected = std::pow(10, -0.3 * static_cast<double>(i));
    EXPECT_NEAR(values[static_cast<std::size_t>(i)] / expected, 1, 1e-13) << i;
  }
}

}  // namespace
}  // namespace tenon::cpu
