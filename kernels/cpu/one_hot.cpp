#include "kernels/cpu/one_hot.h"

#include <algorithm>

#include "kernels/cpu/first_bad.h"

namespace tenon::cpu {

long one_hot(const std::int64_t* indices, long count, long classes, std::int64_t* out, ThreadPool& pool) {
  constexpr long numbers_of_chunk = 1 << 13;
  const long per_chunk = std::max(1L, numbers_of_chunk / std::max(1L, classes));
  FirstBad bad;
  pool.parallel_for((count + per_chunk - 1) / per_chunk, [&](long chunk, int) {
    const long first = chunk * per_chunk, last = std::min(count, first + per_chunk);
    std::fill(out + first * classes, out + last * classes, 0);
    for (long i = first; i < last; ++i) {
      const std::int64_t index = indices[i];
      if (index < 0 || index >= classes)
        bad.report(i);
      else
        out[i * classes + index] = 1;
    }
  });
  return bad.result();
}

}  // namespace tenon::cpu
