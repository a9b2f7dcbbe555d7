// The p-norm, and distances by it.
#pragma once
#include <cstdint>
#include <vector>

#include "ir/build.h"

namespace tenon {

/// (sum |x|^p)^(1/p) over axes, of floats; p may be 0 (how many are not 0) and infinite.
Ref p_norm(const Ref& x, double p, const std::vector<std::int64_t>& axes, bool keepdim);

/// Of each row of a[..., P, M] to each of b[..., R, M]: [..., P, R]. 16-bit floats are computed in f32.
Ref distances(const Ref& a, const Ref& b, double p);
/// The same for p = 2 by products, (|a|^2 + |b|^2 - 2 a b)^(1/2): quicker, and less exact for rows that are
/// close.
Ref distances_by_products(const Ref& a, const Ref& b);

}  // namespace tenon
