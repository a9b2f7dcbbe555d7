#include "kernels/cpu/special.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace tenon::cpu {
namespace {

constexpr long piece = special_piece_size;
using Numbers = std::array<double, piece>;

/// Pairs that have vector code are computed together, and the others by themselves.
void run_pairs(SpecialFunction function, const Numbers& a, const Numbers& b, double* out, long count,
               double least) {
  Numbers first, second, found;
  std::array<long, piece> places;
  long together = 0;
  for (long i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i), next = static_cast<std::size_t>(together);
    if (!has_vector_code(a[at], b[at])) {
      out[at] = scalar_detail::meaning(function, a[at], b[at]);
      continue;
    }
    first[next] = a[at], second[next] = b[at], places[next] = i;
    ++together;
  }
  if (together == 0) return;
  special_piece({function, first.data(), second.data(), found.data(), together, least});
  for (std::size_t i = 0; i < static_cast<std::size_t>(together); ++i) out[places[i]] = found[i];
}

template <class T>
void run_piece(const SpecialRun& run, SpecialFunction function, long first, long count) {
  Numbers a, b, out;
  std::copy_n(static_cast<const T*>(run.a) + first, count, a.begin());
  std::copy_n(static_cast<const T*>(run.b) + first, count, b.begin());
  if (takes_pairs(function)) {
    run_pairs(function, a, b, out.data(), count, sizeof(T) == sizeof(double) ? 0x1p-53 : 0x1p-32);
  } else if (!special_piece({.function = function, .a = a.data(), .out = out.data(), .count = count})) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      out[i] = scalar_detail::meaning(function, a[i], b[i]);
  }
  std::transform(out.begin(), out.begin() + count, static_cast<T*>(run.out) + first,
                 [](double x) { return static_cast<T>(x); });
}

template <class T>
void divisors_of_piece(const SpecialRun& run, long first, long count) {
  const T *const a = static_cast<const T*>(run.a) + first, *const b = static_cast<const T*>(run.b) + first;
  T* const out = static_cast<T*>(run.out) + first;
  for (long i = 0; i < count; ++i) out[i] = scalar_detail::common_divisor(a[i], b[i]);
}

}  // namespace

void run_special(const SpecialRun& run, ThreadPool& pool) {
  pool.parallel_for((run.count + piece - 1) / piece, [&](long chunk, int) {
    const long first = chunk * piece, count = std::min(piece, run.count - first);
    if (run.function && run.dtype == DType::f64) return run_piece<double>(run, *run.function, first, count);
    if (run.function) return run_piece<float>(run, *run.function, first, count);
    dispatch_real(run.dtype, [&]<class T>(dtype_tag<T>) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        divisors_of_piece<T>(run, first, count);
    });
  });
}

}  // namespace tenon::cpu
