// Operators on the elements that are not zero, one after the other in row-major order, whose sizes are known.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// The places of the first `size` elements that are not zero: i64[size, rank]. Where there are fewer, the
/// rows that are left hold `fill`.
struct FirstNonZero : Composite<1> {
  static constexpr std::string_view name = "first_nonzero";
  Dim size = 0;
  std::int64_t fill = -1;
  static constexpr auto fields =
      std::tuple{field("size", &FirstNonZero::size), field("fill", &FirstNonZero::fill)};
  Type infer(const Type& x) const;
  Ref decompose(Ref x) const;
  static constexpr std::array from = {aten("nonzero_static(self, size=size, fill=fill_value)")};
};

/// x with the elements where the mask is true replaced by those of the source, one after the other; of a
/// source with fewer elements the first index that it has not is an error. Operands: x, the mask bool of x's
/// shape, the source of x's dtype and rank 1.
struct MaskedScatter : Composite<3> {
  static constexpr std::string_view name = "masked_scatter";
  Type infer(const Type& x, const Type& mask, const Type& source) const;
  Ref decompose(Ref x, Ref mask, Ref source) const;
};

using MaskedOps = OpList<FirstNonZero, MaskedScatter>;

}  // namespace tenon
