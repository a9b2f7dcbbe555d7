// Rows of zeros with a one where an index says.
#pragma once
#include <cstdint>

#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// out[count][classes]: 1 at the row's index, 0 elsewhere. Returns -1, or the first row whose index is not in
/// [0, classes).
long one_hot(const std::int64_t* indices, long count, long classes, std::int64_t* out, ThreadPool& pool);

}  // namespace tenon::cpu
