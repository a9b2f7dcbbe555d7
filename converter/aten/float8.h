// Which operators PyTorch has for 8-bit floats.
#pragma once
#include "converter/aten/table.h"

namespace tenon::converter {

/// Throws Error where an operand is float8 and PyTorch's operator takes none: it moves and converts them,
/// compares for equality and multiplies, and no more.
void check_float8(const Call&, const AtenEntry*);

}  // namespace tenon::converter
