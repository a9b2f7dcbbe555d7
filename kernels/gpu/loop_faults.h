// What the data may get wrong in a loop: a kernel reports it, and goes on.
#pragma once
#include "kernels/loop_program.h"

namespace tenon::gpu {

/// Is it a division of integers whose divisor may be zero, since it is no constant?
bool may_divide_by_zero(const LoopCode&, const Instruction&);
/// May an index be out of range, or a divisor zero?
bool reports_faults(const LoopCode&);

}  // namespace tenon::gpu
