// Fourier transforms of every kind meet their definition in float64, line by line.
#include "kernels/cpu/fft.h"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "tests/kernels/every_isa.h"

namespace tenon::cpu {
namespace {

class FftLinesTest : public OnEveryIsa {};
TENON_EVERY_ISA(FftLinesTest);

using Number = std::complex<double>;

/// The n numbers that a line stands for.
template <class T>
std::vector<Number> numbers_of(const FftTables<T>& t, const T* line) {
  std::vector<Number> z(static_cast<std::size_t>(t.n));
  const auto part = [&](long k) { return Number(line[2 * k], line[2 * k + 1]); };
  for (long j = 0; j < t.n; ++j) {
    Number& number = z[static_cast<std::size_t>(j)];
    if (t.kind == FftKind::complex)
      number = part(j);
    else if (t.kind == FftKind::real_to_half)
      number = line[j];
    else if (j == 0 || 2 * j == t.n)
      number = part(j).real();
    else
      number = 2 * j < t.n ? part(j) : std::conj(part(t.n - j));
  }
  return z;
}

Number transformed(const std::vector<Number>& z, long k, bool inverse) {
  const auto n = static_cast<long>(z.size());
  Number sum = 0;
  for (long j = 0; j < n; ++j)
    sum += z[static_cast<std::size_t>(j)] *
           std::polar(1.0, (inverse ? 2 : -2) * std::numbers::pi * static_cast<double>(j * k % n) /
                               static_cast<double>(n));
  return sum;
}

template <class T>
std::vector<T> run(const FftTables<T>& t, const std::vector<T>& x, long lines, long columns = 0) {
  static ThreadPool pool(2);
  std::vector<T> y(static_cast<std::size_t>(lines * t.floats_out + 1), T{7});
  std::vector<std::byte> scratch(fft_scratch_size(t, 2) + 64);
  void* at = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, fft_scratch_size(t, 2), at, space);
  fft(FftLines<T>{&t, lines, x.data(), y.data(), columns}, static_cast<std::byte*>(at), pool);
  EXPECT_EQ(y.back(), T{7}) << "written behind the last line";
  return y;
}

template <class T>
void check(FftKind kind, bool inverse, long n, long lines, double tolerance) {
  const FftTables<T> t(kind, inverse, n);
  std::vector<T> x(static_cast<std::size_t>(lines * t.floats_in));
  std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  for (T& v : x) v = static_cast<T>(normal(generator));
  const std::vector<T> y = run(t, x, lines);
  for (long line = 0; line < lines; ++line) {
    const std::vector<Number> z = numbers_of(t, x.data() + line * t.floats_in);
    const T* const got = y.data() + line * t.floats_out;
    const double scale = 4 * std::sqrt(static_cast<double>(n));
    for (long k = 0; k < (kind == FftKind::real_to_half ? n / 2 + 1 : n); ++k) {
      const Number want = transformed(z, k, inverse);
      const Number found =
          kind == FftKind::half_to_real ? Number(got[k]) : Number(got[2 * k], got[2 * k + 1]);
      const double error =
          kind == FftKind::half_to_real ? std::abs(found.real() - want.real()) : std::abs(found - want);
      ASSERT_LE(error, tolerance * scale) << "n " << n << ", line " << line << ", number " << k;
    }
  }
}

TEST_P(FftLinesTest, EveryKindAndLength) {
  for (const long n :
       {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 22, 26, 34, 49, 60, 101, 121, 128, 169, 202, 400})
    for (const long lines : {1L, 3L, 17L}) {
      for (const bool inverse : {false, true}) {
        check<float>(FftKind::complex, inverse, n, lines, 1e-6);
        check<double>(FftKind::complex, inverse, n, lines, 1e-14);
      }
      check<float>(FftKind::real_to_half, false, n, lines, 1e-6);
      check<double>(FftKind::real_to_half, false, n, lines, 1e-14);
      check<float>(FftKind::half_to_real, true, n, lines, 1e-6);
      check<double>(FftKind::half_to_real, true, n, lines, 1e-14);
    }
}

TEST_P(FftLinesTest, LinesThatLieSideBySide) {
  for (const long n : {1, 6, 17, 40})
    for (const long columns : {1L, 5L, 16L, 19L}) {
      constexpr long matrices = 2;
      const FftTables<float> t(FftKind::complex, true, n);
      std::vector<float> dense(static_cast<std::size_t>(matrices * columns * 2 * n)), turned(dense.size());
      const auto at = [&](long matrix, long column, long j, long part, bool is_turned) {
        const long number =
            is_turned ? (matrix * n + j) * columns + column : (matrix * columns + column) * n + j;
        return static_cast<std::size_t>(2 * number + part);
      };
      const auto for_each = [&](auto visit) {
        for (long m = 0; m < matrices; ++m)
          for (long c = 0; c < columns; ++c)
            for (long j = 0; j < n; ++j)
              for (long part = 0; part < 2; ++part) visit(at(m, c, j, part, false), at(m, c, j, part, true));
      };
      std::mt19937 generator(1);
      for (float& v : dense) v = static_cast<float>(generator() % 100) / 50 - 1;
      for_each([&](std::size_t d, std::size_t c) { turned[c] = dense[d]; });
      const std::vector<float> want = run(t, dense, matrices * columns);
      const std::vector<float> got = run(t, turned, matrices * columns, columns);
      for_each([&](std::size_t d, std::size_t c) { ASSERT_EQ(got[c], want[d]) << n << " " << columns; });
    }
}

TEST_P(FftLinesTest, OfRealNumbersTheFirstAndTheMiddleOneAreReal) {
  for (const long n : {6, 17, 34}) {
    const FftTables<float> t(FftKind::complex, false, n);
    std::vector<float> x(static_cast<std::size_t>(2 * 2 * n), 0.0F);
    for (long j = 0; j < n; ++j) x[static_cast<std::size_t>(2 * j)] = 0.1F * static_cast<float>(j * j % 7);
    x.back() = 1;  // the second line is not real
    const std::vector<float> y = run(t, x, 2);
    EXPECT_EQ(y[1], 0.0F);
    EXPECT_FALSE(std::signbit(y[1]));
    if (n % 2 == 0) { EXPECT_EQ(y[static_cast<std::size_t>(n + 1)], 0.0F); }
    EXPECT_NE(y[static_cast<std::size_t>(2 * n + 1)], 0.0F);
  }
}

TEST_P(FftLinesTest, WhatIsNotFiniteStaysInItsLine) {
  for (const FftKind kind : {FftKind::complex, FftKind::real_to_half, FftKind::half_to_real})
    for (const long n : {12, 17}) {
      const FftTables<float> t(kind, kind == FftKind::half_to_real, n);
      std::vector<float> x(static_cast<std::size_t>(5 * t.floats_in), 1.0F);
      x[static_cast<std::size_t>(2 * t.floats_in + 2)] = std::numeric_limits<float>::infinity();
      const std::vector<float> y = run(t, x, 5);
      for (long i = 0; i < 5 * t.floats_out; ++i)
        EXPECT_TRUE(i / t.floats_out == 2 || std::isfinite(y[static_cast<std::size_t>(i)])) << i;
    }
}

}  // namespace
}  // namespace tenon::cpu
