// einsum as permutes, reshapes, products and matrix products.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ir/build.h"
#include "ir/ops/rules.h"

namespace tenon {

/// torch.einsum's notation: "bhqd,bhkd->bhqk", "...ij,jk". Operands are contracted from left to right. Throws
/// Error (unsupported) for an index that stands twice in one operand (a diagonal).
Ref einsum(std::string_view equation, std::span<const Ref> operands);

/// What a contraction is made of: the product of matrices, that of elements, sums over axes.
struct Contraction {
  Ref (*product)(const Ref&, const Ref&);
  Ref (*times)(const Ref&, const Ref&);
  Ref (*sum)(const Ref&, const Axes&);
};
Ref einsum(std::string_view equation, std::span<const Ref> operands, const Contraction&);

/// torch.tensordot as an equation: sums over pairs of axes of two operands of these ranks.
std::string tensordot_equation(std::size_t rank_of_a, std::size_t rank_of_b,
                               std::span<const std::int64_t> axes_of_a,
                               std::span<const std::int64_t> axes_of_b);

/// The axes of the one operand and of the result by one letter each, where nothing is summed: diagonals in
/// another order, which PyTorch gives as a view.
std::optional<std::pair<std::string, std::string>> einsum_of_view(std::string_view equation,
                                                                  std::size_t rank);

}  // namespace tenon
