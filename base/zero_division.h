// Integers divided by zero: refused where an expression is computed, as PyTorch refuses it.
#pragma once

namespace tenon {

/// Throws Error. Not inline: kernels that are built once per ISA call it.
[[noreturn]] void refuse_zero_divisor();

}  // namespace tenon
