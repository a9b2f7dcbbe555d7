// Pooling as the text of a GPU kernel (pool.gpu.h).
#pragma once
#include <string>

#include "base/dtype.h"

namespace tenon::gpu {

/// The kernel `pool`: the input, the result, and a PoolShape. One thread for each element of the result,
/// blocks of pool_threads.
std::string pool_source(DType dtype, bool mean, bool adaptive);
/// The same of maxima with a buffer more, for their places (i64).
std::string pool_with_places_source(DType dtype, bool adaptive);
inline constexpr int pool_threads = 256;

}  // namespace tenon::gpu
