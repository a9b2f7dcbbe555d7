// What is said where an integer is divided by zero, as PyTorch says it.
#pragma once
#include "base/error.h"

namespace tenon {

Error zero_division_error();

}  // namespace tenon
