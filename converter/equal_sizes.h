// Sizes of inputs that an operator needs to be equal, and the file does not say to be.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "converter/convert.h"
#include "ir/graph.h"

namespace tenon::converter {

/// What stands in the way of a conversion with these options.
using Failure = std::function<std::optional<Error>(const ConvertOptions&)>;

/// The error with a hint: the types of inputs with which the sizes are equal, all that it takes.
Error with_equal_sizes(Error failure, const Graph& inputs, const ConvertOptions&, const Failure& again);

}  // namespace tenon::converter
