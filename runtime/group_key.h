// What a group computes, as text that is the same for groups that do the same work.
#pragma once
#include <string>
#include <string_view>

#include "runtime/group.h"

namespace tenon {

/// Operators with attributes, in order, and what each reads: a member's result, an operand by its number and
/// type, or a number.
std::string wiring(const Group&);

/// 16 hexadecimal digits (FNV-1a), the same on every machine.
std::string hash_of(std::string_view text);

}  // namespace tenon
