// Values that are known while the model is read because they depend on constants alone.
#pragma once
#include <functional>
#include <optional>

#include "ir/graph.h"

namespace tenon::converter {

/// The known value of a parameter of the graph.
using KnownParameters = std::function<std::optional<Tensor>(const Value*)>;

/// The data of a weight, a literal, or of a small computation on such; nullopt when it depends on an input
/// that is not known, on a symbolic size, or is larger than a million elements.
std::optional<Tensor> constant_value(const Value*, const KnownParameters& = {});

}  // namespace tenon::converter
