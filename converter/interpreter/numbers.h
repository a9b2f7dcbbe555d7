// Python numbers and bools that are not known while the model is read: computed by the graph.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "converter/builder.h"

namespace tenon::converter {

/// True for a Python number or bool, known or not.
bool is_python_scalar(const AbstractValue&);
/// True for one that is not known.
bool is_unknown_scalar(const AbstractValue&);

/// The number as a rank-0 i64 or f64. Throws Error(unsupported) for what is none.
Ref number_value(Builder&, const AbstractValue&);
/// The bool as a rank-0 value. Throws Error(unsupported) when it cannot be computed, with the reason.
Ref condition_value(Builder&, const AbstractValue&);

/// A function on Python numbers and bools ("add", "floordiv", "lt", "Int") of which at least one is unknown.
/// Ints are i64 and floats f64, as in Python. nullopt when there is none of that name.
std::optional<AbstractValue> run_unknown_scalar(Builder&, std::string_view name, std::string_view overload,
                                                std::span<const AbstractValue> arguments);
/// The same, on known numbers too (run_scalar); nullopt also for other arguments.
std::optional<AbstractValue> run_any_scalar(Builder&, std::string_view name, std::string_view overload,
                                            std::span<const AbstractValue> arguments);
/// min, max, sum, any and all of a list of such numbers; nullopt when none of them is unknown.
std::optional<AbstractValue> run_unknown_list(Builder&, std::string_view name,
                                              std::span<const AbstractValue> arguments);

/// The one element of a tensor as a Python number or bool (is_python_scalar).
AbstractValue python_scalar(Builder&, const TensorPtr&);

}  // namespace tenon::converter
