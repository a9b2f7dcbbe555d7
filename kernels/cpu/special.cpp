#include "kernels/cpu/special.h"

#include <algorithm>
#include <array>

namespace tenon::cpu {
namespace {

constexpr long piece = 256;  // numbers, which stay in L1

template <class T>
void run_piece(const SpecialRun& run, long first, long count) {
  std::array<double, piece> a, b, out;
  std::copy_n(static_cast<const T*>(run.a) + first, count, a.begin());
  if (!special_piece({run.function, a.data(), out.data(), count})) {
    std::copy_n(static_cast<const T*>(run.b) + first, count, b.begin());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      out[i] = scalar_detail::meaning(run.function, a[i], b[i]);
  }
  std::transform(out.begin(), out.begin() + count, static_cast<T*>(run.out) + first,
                 [](double x) { return static_cast<T>(x); });
}

}  // namespace

void run_special(const SpecialRun& run, ThreadPool& pool) {
  pool.parallel_for((run.count + piece - 1) / piece, [&](long chunk, int) {
    const long first = chunk * piece, count = std::min(piece, run.count - first);
    if (run.dtype == DType::f64) return run_piece<double>(run, first, count);
    run_piece<float>(run, first, count);
  });
}

}  // namespace tenon::cpu
