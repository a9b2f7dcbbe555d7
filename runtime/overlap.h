// Whether two arrays in one buffer have bytes in common.
#pragma once
#include "ir/strided.h"

namespace tenon {

/// False only where no byte is in both. True where that is not known: strides that do not divide each other.
bool may_overlap(const Strided& a, const Strided& b);

}  // namespace tenon
