// Tables of functions on known Python values, by the operator's name without its namespace.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "converter/builder.h"

namespace tenon::converter {

using Arguments = std::span<const AbstractValue>;
/// nullopt when the arguments are not of the kinds that the function takes.
using ScalarFunction = std::optional<AbstractValue> (*)(Arguments);
using ScalarFunctions = std::unordered_map<std::string_view, ScalarFunction>;
using ContainerFunction = AbstractValue (*)(Arguments);
using ContainerFunctions = std::unordered_map<std::string_view, ContainerFunction>;

/// Comparisons, `is`, and functions on bools.
const ScalarFunctions& comparison_functions();
/// Python's math module.
const ScalarFunctions& math_functions();
/// The methods of strings.
const ContainerFunctions& string_functions();

/// The int behind an int or a bool.
std::optional<Dim> integer(const AbstractValue&);
/// The known number as a float.
std::optional<double> real(const AbstractValue&);
/// Throws Error(unsupported) unless the value is a known int.
std::int64_t known_integer(const AbstractValue&);
/// The position among `size` items that an index means. Negative indices count from the end.
std::size_t place_of(const AbstractValue& index, std::size_t size);

}  // namespace tenon::converter
