// Complex tensors as their real and imaginary parts.
#pragma once
#include <string_view>

#include "converter/aten/table.h"

namespace tenon::converter {

struct Parts {
  Ref real, imag;
};

/// The parts of a complex value; of one that is only moved about, those of what it was made from.
Parts parts_of(const Ref& z);
/// The parts of a complex or real value; a real one is cast to `real`.
Parts parts_in(const Ref& x, DType real);
Ref complex(const Parts&);
/// The value as any dtype. Of a complex one that becomes real the imaginary part is lost, as in PyTorch.
Ref in_dtype(DType, const Ref&);
/// f32 for c64, f64 for c128.
DType real_dtype(DType complex_dtype);

/// The handler for a call with complex operands; null when the operator's ordinary one serves them too,
/// because it only moves elements. Throws Error(unsupported) for the others.
const AtenEntry* find_complex_entry(const Call&);
/// True of operators that only move elements or ask for sizes.
bool moves_elements(std::string_view name);
/// True when an operand is complex.
bool has_complex_operand(const Call&);

}  // namespace tenon::converter
