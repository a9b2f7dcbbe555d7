// Operators of a user's library: what their functions get besides pointers (include/tenon/operator.h).
#pragma once
#include "kernels/gpu/loop_values.gpu.h"

namespace tenon::gpu {

struct tenon_call {
  long long elements;  // threads
  long long sizes[16][8];
  long long integers[16];
  double reals[16];
};

}  // namespace tenon::gpu
