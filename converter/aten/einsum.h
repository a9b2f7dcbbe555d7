// einsum as permutes, reshapes, products and matrix products.
#pragma once
#include <span>
#include <string_view>

#include "ir/build.h"

namespace tenon::converter {

/// torch.einsum's notation: "bhqd,bhkd->bhqk", "...ij,jk". Operands are contracted from left to right. Throws
/// Error (unsupported) for an index that stands twice in one operand (a diagonal).
Ref einsum(std::string_view equation, std::span<const Ref> operands);

}  // namespace tenon::converter
