// Copies between strides.
#pragma once
#include <memory>

#include "runtime/step.h"

namespace tenon {

std::unique_ptr<Step> make_copy(const PlannedTensor& from, const PlannedTensor& to);

}  // namespace tenon
