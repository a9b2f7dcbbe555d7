// What a loop's kernel reports (BadOperand of loop_values.gpu.h).
#pragma once
#include "base/error.h"
#include "runtime/frame.h"

namespace tenon::gpu {

/// An index outside of a range, or where no range is named an integer that is divided by zero.
Error loop_error(const Fault&);

}  // namespace tenon::gpu
