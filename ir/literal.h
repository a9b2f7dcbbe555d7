// Numbers and strings as the IR text writes them, exact in both directions.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/tensor.h"

namespace tenon {

/// Shortest decimal text that reads back to the same double; always has a '.', an exponent, inf or nan.
std::string number_text(double value);
/// The shortest decimal that reads back to the same float, as a double: 1e-06 for the float next to it.
double shortest(float value);
/// "double-quoted", with backslash escapes for quotes, backslashes and control characters.
std::string quoted_text(std::string_view s);
/// What stands between double quotes, as it is; nullopt: it has none.
std::optional<std::string> between_quotes(std::string_view text);
/// The number in another dtype: rounded in a float; nullopt where an integer or bool cannot hold it.
std::optional<Tensor> number_as(const Tensor&, DType);
/// Of a rank-0 tensor: equal for equal dtypes and bits.
std::string literal_key(const Tensor&);

}  // namespace tenon
