// Short names for the argument lists in operator definitions.
#pragma once
#include <span>

#include "ir/define.h"

namespace tenon {

using TypeSpan = std::span<const Type>;
using RefSpan = std::span<const Ref>;
using InSpan = std::span<const Tensor>;
using OutSpan = std::span<Tensor>;

/// A kernel with one arithmetic operation for each element of its operand.
struct PerElement : WithReference<1> {
  double flops(TypeSpan in, TypeSpan) const { return elements(in[0]); }
};

}  // namespace tenon
