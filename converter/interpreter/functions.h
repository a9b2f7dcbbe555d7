// Tables of functions on known Python values, by the operator's name without its namespace.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

#include "converter/builder.h"

namespace tenon::converter {

using Arguments = std::span<const Datum>;
/// nullopt when the arguments are not of the kinds that the function takes.
using ScalarFunction = std::optional<Datum> (*)(Arguments);
using ScalarFunctions = std::unordered_map<std::string_view, ScalarFunction>;
using ContainerFunction = Datum (*)(Arguments);
using ContainerFunctions = std::unordered_map<std::string_view, ContainerFunction>;

/// Comparisons, `is`, and functions on bools.
const ScalarFunctions& comparison_functions();
/// Python's math module.
const ScalarFunctions& math_functions();
/// The methods of strings.
const ContainerFunctions& string_functions();

/// The int behind an int or a bool.
std::optional<Dim> integer(const Datum&);
/// The known number as a float.
std::optional<double> real(const Datum&);
/// Throws Error(unsupported) unless the datum is a known int.
std::int64_t known_integer(const Datum&);
/// The place that an index, perhaps counted from the end, means among `size` items.
std::size_t place_of(const Datum& index, std::size_t size);

}  // namespace tenon::converter
