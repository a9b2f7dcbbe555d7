// Integers that may be divided by zero. PyTorch and the CPU refuse that while they compute; the kernels of a
// GPU do not say it, so what may do it is not lowered to them.
#pragma once
#include "runtime/group.h"

namespace tenon::gpu {

/// False where all divisors of integers are known and not zero.
bool may_divide_by_zero(const Group& group);

}  // namespace tenon::gpu
