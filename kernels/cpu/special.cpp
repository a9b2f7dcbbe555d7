#include "kernels/cpu/special.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace tenon::cpu {
namespace {

constexpr long piece = special_piece_size;
using Numbers = std::array<double, piece>;

template <class T>
void run_piece(const SpecialRun& run, SpecialFunction function, long first, long count) {
  alignas(64) Numbers a, b, out;
  std::array<long, piece> left;
  const auto load = [&](Numbers& to, const void* from) {
    const T* const numbers = static_cast<const T*>(from) + first;
    std::copy_n(numbers, count, to.begin());
    const long padded = (count + special_padding - 1) / special_padding * special_padding;
    std::fill(to.begin() + count, to.begin() + padded, static_cast<double>(numbers[0]));
  };
  load(a, run.a);
  if (run.b != run.a) load(b, run.b);
  const double* const second = run.b != run.a ? b.data() : a.data();
  const double least = sizeof(T) == sizeof(double) ? 0x1p-53 : 0x1p-32;
  const long others = special_piece({function, a.data(), second, out.data(), count, least, left.data()});
  for (std::size_t k = 0; k < static_cast<std::size_t>(others); ++k) {
    const auto i = static_cast<std::size_t>(left[k]);
    out[i] = scalar_detail::meaning(function, a[i], second[i]);
  }
  std::transform(out.begin(), out.begin() + count, static_cast<T*>(run.out) + first,
                 [](double x) { return static_cast<T>(x); });
}

void divisors_of_piece(const SpecialRun& run, long first, long count) {
  const long offset = first * static_cast<long>(size_of(run.dtype));
  const auto at = [&](const void* from) { return static_cast<const std::byte*>(from) + offset; };
  divisors_piece({run.dtype, at(run.a), at(run.b), static_cast<std::byte*>(run.out) + offset, count});
}

}  // namespace

void run_special(const SpecialRun& run, ThreadPool& pool) {
  constexpr long chunk_size = 4 * piece;
  pool.parallel_for((run.count + chunk_size - 1) / chunk_size, [&](long chunk, int) {
    const long first = chunk * chunk_size, count = std::min(chunk_size, run.count - first);
    for (long at = first; run.function && at < first + count; at += piece) {
      const long here = std::min(piece, first + count - at);
      run.dtype == DType::f64 ? run_piece<double>(run, *run.function, at, here)
                              : run_piece<float>(run, *run.function, at, here);
    }
    if (!run.function) divisors_of_piece(run, first, count);
  });
}

}  // namespace tenon::cpu
