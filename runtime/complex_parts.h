// Complex numbers and their parts: the same memory, looked at differently.
#pragma once
#include <optional>

#include "runtime/buffers.h"

namespace tenon {

/// An axis of what each element consists of, the last.
PlannedTensor in_parts(const PlannedTensor& t, DType part);
/// The real (0) or imaginary (1) parts.
PlannedTensor part_of(const PlannedTensor& z, std::int64_t which);
/// The complex numbers that lie there as pairs along a last axis.
std::optional<PlannedTensor> numbers_of(const PlannedTensor& pairs);
/// The complex numbers that have these parts, where each imaginary part lies behind its real one.
std::optional<PlannedTensor> whole_of(const PlannedTensor& real, const PlannedTensor& imag);

}  // namespace tenon
