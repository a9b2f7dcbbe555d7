// Codes of few bits, several in a byte.
#pragma once
#include "ir/build.h"

namespace tenon {

/// The codes in u8 bytes along the last axis, of 2, 4 or 8 bits, the low bits first. Throws Error for bytes
/// of another type or without axes.
Ref unpacked(const Ref& bytes, std::int64_t bits);

}  // namespace tenon
