// einsum as permutes, reshapes, products and matrix products.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ir/build.h"

namespace tenon {

/// torch.einsum's notation: "bhqd,bhkd->bhqk", "...ij,jk". Operands are contracted from left to right. Throws
/// Error (unsupported) for an index that stands twice in one operand (a diagonal).
Ref einsum(std::string_view equation, std::span<const Ref> operands);

/// The axes of the one operand and of the result by one letter each, where nothing is summed: diagonals in
/// another order, which PyTorch gives as a view.
std::optional<std::pair<std::string, std::string>> einsum_of_view(std::string_view equation,
                                                                  std::size_t rank);

}  // namespace tenon
