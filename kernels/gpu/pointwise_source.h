// Pointwise functions as the text of a GPU kernel (pointwise.gpu.h).
#pragma once
#include <string>
#include <string_view>

#include "base/dtype.h"

namespace tenon::gpu {

/// A special function of floats by its name in base/specials.def, computed in f64.
std::string special_value(std::string_view function);

/// The kernel `pointwise`: two operands, the result, and a PointwiseShape. One thread for each element,
/// blocks of pointwise_threads. `value` is an expression over the elements a and b.
std::string pointwise_source(DType dtype, std::string_view value);
inline constexpr int pointwise_threads = 256;
inline constexpr std::size_t pointwise_max_rank = 8;

}  // namespace tenon::gpu
