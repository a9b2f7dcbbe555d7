// Pooling as the text of a GPU kernel (pool.gpu.h).
#pragma once
#include <string>

#include "base/dtype.h"

namespace tenon::gpu {

/// How threads divide a pool's result.
struct PoolForm {
  int channels = 1;   // side by side, of one thread; 0: one, and neighbours compute the next pixels
  bool wide = false;  // threads are counted in 64 bits

  bool operator==(const PoolForm&) const = default;
};

/// The kernel `pool`: the input, the result, and a PoolShape, in blocks of pool_threads.
std::string pool_source(DType dtype, bool mean, bool adaptive, const PoolForm&);
/// The same of maxima with a buffer more, for their places (i64). A thread computes one channel.
std::string pool_with_places_source(DType dtype, bool adaptive, const PoolForm&);
inline constexpr int pool_threads = 256;

}  // namespace tenon::gpu
