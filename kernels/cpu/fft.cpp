// Fourier transforms: the tables, and lines shared out among threads.
#include "kernels/cpu/fft.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <numbers>

#include "kernels/cpu/fft_block.h"

namespace tenon::cpu {

namespace {

constexpr std::size_t alignment = 64;

using Number = std::complex<double>;

/// exp(-2 pi i k / n)
Number root(long k, long n) {
  return std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k % n) / static_cast<double>(n));
}

template <class T>
void append(std::vector<T>& to, Number z) {
  to.push_back(static_cast<T>(z.real()));
  to.push_back(static_cast<T>(z.imag()));
}

/// How many passes of n = odd * 2^twos are by 8. With few registers only the last one, which has no factors.
int passes_by_8(int twos) {
  return fft_has_registers_for_8() ? twos / 3 : twos >= 3 && twos % 2 == 1 ? 1 : 0;
}

/// Empty where a prime is too large.
std::vector<int> radices_of(long n) {
  std::vector<int> radices(
      static_cast<std::size_t>(passes_by_8(std::countr_zero(static_cast<unsigned long>(n)))), 8);
  n >>= 3 * radices.size();
  for (const int radix : {4, 2, 3, 5, 7, 11, 13})
    while (n % radix == 0) {
      radices.push_back(radix);
      n /= radix;
    }
  if (n != 1) radices.clear();
  std::reverse(radices.begin(), radices.end());  // the passes with most factors first do the least work
  return radices;
}

/// The least product of 2, 3 and 5 from n on.
long smooth_from(long n) {
  for (;; ++n) {
    long rest = n;
    for (const long p : {2L, 3L, 5L})
      while (rest % p == 0) rest /= p;
    if (rest == 1) return n;
  }
}

/// In place, by its definition's factors: for tables alone.
void transform(std::vector<Number>& z, const std::vector<int>& radices) {
  std::vector<Number> next(z.size());
  long rest = static_cast<long>(z.size()), stride = 1;
  for (const int radix : radices) {
    const long m = rest / radix;
    for (long p = 0; p < m; ++p)
      for (long k = 0; k < radix; ++k)
        for (long q = 0; q < stride; ++q) {
          Number sum = 0;
          for (long j = 0; j < radix; ++j)
            sum += z[static_cast<std::size_t>(q + stride * (p + m * j))] * root(j * k, radix);
          next[static_cast<std::size_t>(q + stride * (radix * p + k))] = sum * root(p * k, rest);
        }
    std::swap(z, next);
    rest = m;
    stride *= radix;
  }
}

}  // namespace

template <class T>
FftTables<T>::FftTables(FftKind kind_, bool inverse_, long n_)
    : kind(kind_),
      inverse(inverse_),
      n(n_),
      is_folded(kind != FftKind::complex && n % 2 == 0),
      length(is_folded ? n / 2 : n),
      floats_in(kind == FftKind::real_to_half ? n
                : kind == FftKind::complex    ? 2 * n
                                              : 2 * (n / 2 + 1)),
      floats_out(kind == FftKind::half_to_real ? n
                 : kind == FftKind::complex    ? 2 * n
                                               : 2 * (n / 2 + 1)) {
  if (is_folded)
    for (long k = 0; k <= length; ++k) append(folding, root(k, n));
  radices = radices_of(length);
  long rest = length;
  if (radices.empty() && length > 1) {
    rest = padded = smooth_from(2 * length - 1);
    radices = radices_of(padded);
    std::vector<Number> convolved(static_cast<std::size_t>(padded));
    for (long k = 0; k < length; ++k) {
      const Number z = root(k * k % (2 * length), 2 * length);
      append(chirp, z);
      convolved[static_cast<std::size_t>(k)] = convolved[static_cast<std::size_t>((padded - k) % padded)] =
          std::conj(z);
    }
    transform(convolved, radices);
    for (const Number& z : convolved) append(filter, z / static_cast<double>(padded));
  }
  for (const int radix : radices) {
    const long m = rest / radix;
    for (long p = 0; p < m; ++p)
      for (long k = 1; k < radix; ++k) append(factors, root(p * k, rest));
    rest = m;
  }
}

template <class T>
std::size_t fft_scratch_size(const FftTables<T>& tables, int threads) {
  const auto numbers = static_cast<std::size_t>(std::max(tables.padded, tables.n + 1));
  const std::size_t block = numbers * 2 * static_cast<std::size_t>(fft_lanes()) * sizeof(float) + alignment;
  return 3 * block * static_cast<std::size_t>(threads);
}

namespace {
void transform_block(const FftBlock<float>& block) { fft_block_f32(block); }
void transform_block(const FftBlock<double>& block) { fft_block_f64(block); }
}  // namespace

template <class T>
void fft(const FftLines<T>& call, std::byte* scratch, ThreadPool& pool) {
  const FftTables<T>& tables = *call.tables;
  const long lanes = fft_lanes() * static_cast<long>(sizeof(float)) / static_cast<long>(sizeof(T));
  const std::size_t bytes = fft_scratch_size(tables, 1);
  const long width = call.columns > 0 ? call.columns : call.lines;  // lines of a matrix
  const long chunks = (width + lanes - 1) / lanes;
  pool.parallel_for(call.lines / width * chunks, [&](long chunk, int thread) {
    const long first = chunk % chunks * lanes;
    const long from = chunk / chunks * width * tables.n * 2;
    const bool is_dense = call.columns == 0;
    transform_block({.tables = &tables,
                     .lines = std::min(lanes, width - first),
                     .x = call.x + (is_dense ? first * tables.floats_in : from + 2 * first),
                     .y = call.y + (is_dense ? first * tables.floats_out : from + 2 * first),
                     .step = call.columns,
                     .work = reinterpret_cast<T*>(scratch + bytes * static_cast<std::size_t>(thread)),
                     .work_size = static_cast<long>(bytes / 3 / alignment * alignment / sizeof(T))});
  });
}

template struct FftTables<float>;
template struct FftTables<double>;
template std::size_t fft_scratch_size(const FftTables<float>&, int);
template std::size_t fft_scratch_size(const FftTables<double>&, int);
template void fft(const FftLines<float>&, std::byte*, ThreadPool&);
template void fft(const FftLines<double>&, std::byte*, ThreadPool&);

}  // namespace tenon::cpu
