// Sizes of inputs that an operator needs to be equal although the file does not declare them equal.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/error.h"
#include "converter/convert.h"
#include "ir/graph.h"

namespace tenon::converter {

/// The error that a conversion with these options ends with.
using Failure = std::function<std::optional<Error>(const ConvertOptions&)>;

/// The error with a hint: the types of inputs with which the sizes are equal, all that it takes.
Error with_equal_sizes(Error failure, const Graph& inputs, const ConvertOptions&, const Failure& again);

}  // namespace tenon::converter
