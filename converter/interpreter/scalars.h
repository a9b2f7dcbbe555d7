// Functions on Python numbers, strings and lists: everything of a program that is not a tensor.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "converter/builder.h"

namespace tenon::converter {

/// A function on numbers, bools and strings ("add", "floordiv", "lt", "Int"). nullopt when there is none of
/// that name, or when a float would depend on symbolic sizes (a tensor function must do it then).
std::optional<AbstractValue> run_scalar(std::string_view name, std::string_view overload,
                                        std::span<const AbstractValue> arguments);
bool is_scalar_function(std::string_view name, std::string_view overload);

/// A function whose first argument is a list, tuple, dict or string ("append", "__getitem__", "len").
std::optional<AbstractValue> run_container(std::string_view name, std::span<const AbstractValue> arguments);
bool is_container_function(std::string_view name);

/// a == b as Python has it for numbers, strings, None and lists of them: a bool, or SymbolicBool.
AbstractValue equal(const AbstractValue& a, const AbstractValue& b);
/// a is b.
bool identical(const AbstractValue& a, const AbstractValue& b);
/// str(d), as in format().
std::string text_of(const AbstractValue&);

}  // namespace tenon::converter
