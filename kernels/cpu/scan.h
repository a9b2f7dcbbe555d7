// Running sums and products along a dim.
#pragma once
#include "base/dtype.h"
#include "kernels/thread_pool.h"

namespace tenon::cpu {

/// y[o][i][c] = x[o][0][c] + ... + x[o][i][c], or their product, of dense tensors [outer, length, inner].
/// Floats are folded in double and rounded to each result.
struct Scan {
  bool multiplies = false;
  DType dtype = DType::f32;  // f32, f64, i32 or i64; integers wrap around
  long outer = 1, length = 0, inner = 1;
  const void* x = nullptr;
  void* y = nullptr;  // may be x
};

void scan(const Scan& scan, ThreadPool& pool);

}  // namespace tenon::cpu
