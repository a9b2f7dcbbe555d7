// Values that are known while the model is read because they depend on constants alone.
#pragma once
#include <optional>

#include "ir/graph.h"

namespace tenon::converter {

/// The data of a weight, a literal, or of a small computation on such; nullopt when it depends on an input,
/// on a symbolic size, or is larger than a million elements.
std::optional<Tensor> constant_value(const Value*);

}  // namespace tenon::converter
