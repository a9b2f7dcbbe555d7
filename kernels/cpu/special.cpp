#include "kernels/cpu/special.h"

#include <algorithm>
#include <array>
#include <type_traits>

namespace tenon::cpu {
namespace {

constexpr long piece = 256;  // numbers, which stay in L1

template <class T>
void run_piece(const SpecialRun& run, SpecialFunction function, long first, long count) {
  std::array<double, piece> a, b, out;
  std::copy_n(static_cast<const T*>(run.a) + first, count, a.begin());
  if (!special_piece({function, a.data(), out.data(), count})) {
    std::copy_n(static_cast<const T*>(run.b) + first, count, b.begin());
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
