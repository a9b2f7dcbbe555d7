// The families of operators, in the order `tenon ops` shows them. Each is defined in the .cpp of its name.
#pragma once
#include <array>
#include <vector>

#include "ir/op.h"

namespace tenon {

std::vector<const OpInfo*> arithmetic_ops();
std::vector<const OpInfo*> activation_ops();
std::vector<const OpInfo*> control_ops();

inline constexpr std::array families = {arithmetic_ops, activation_ops, control_ops};

}  // namespace tenon
