// The p-norm, which norms, distances and losses share.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/build.h"

namespace tenon::converter {

/// (sum |x|^p)^(1/p) over axes, of floats; p may be 0 (how many are not 0) and infinite.
Ref p_norm(const Ref& x, double p, const std::vector<std::int64_t>& axes, bool keepdim);

}  // namespace tenon::converter
