// Handlers that want 16-bit floats as f32.
#pragma once
#include "converter/aten/table.h"

namespace tenon::converter {

/// Runs a handler as an entry of HalfPrecision::in_f32 is run.
Results run_in_f32(Handler, Call&);

}  // namespace tenon::converter
