// Steps that copy between the device's memory and pinned memory.
#pragma once
#include <memory>
#include <string>

#include "runtime/step.h"

namespace tenon {

/// Both are dense, of one type and shape.
std::unique_ptr<Step> make_transfer(const PlannedTensor& from, const PlannedTensor& to, std::string kernel);

}  // namespace tenon
