#include "kernels/gpu/loop_faults.h"

#include <algorithm>

namespace tenon::gpu {

bool may_divide_by_zero(const LoopCode& code, const Instruction& i) {
  if (i.op != LoopOp::prim || !divides(i.prim)) return false;
  const Instruction& divisor = code.instructions[static_cast<std::size_t>(i.args[1])];
  if (is_float(compute_type(divisor.type)) || divisor.op == LoopOp::count) return false;
  return divisor.op != LoopOp::constant || divisor.integer == 0;
}

bool reports_faults(const LoopCode& code) {
  return std::any_of(code.instructions.begin(), code.instructions.end(),
                     [&](const Instruction& i) { return may_fault(i) || may_divide_by_zero(code, i); });
}

}  // namespace tenon::gpu
