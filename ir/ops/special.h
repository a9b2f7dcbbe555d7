// Special functions of mathematics.
#pragma once
#include "base/special_meaning.h"
#include "ir/ops/spans.h"

namespace tenon {

template <>
struct EnumNames<SpecialFunction> {
  static constexpr std::array names = {
#define SPECIAL(name, ...) std::string_view(#name),
#include "base/specials.def"
  };
};

/// The function of each element, of floats; two operands broadcast. Computed in f64.
struct Special : WithReference<1, 2> {
  static constexpr std::string_view name = "special";
  SpecialFunction function = SpecialFunction::i0;
  static constexpr auto fields = std::tuple{field("function", &Special::function)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
};

/// The greatest common divisor of integers, not negative; operands broadcast.
struct Gcd : WithReference<2> {
  static constexpr std::string_view name = "gcd";
  Type infer(const Type& a, const Type& b) const;
  void reference(InSpan in, OutSpan out) const;
};

using SpecialOps = OpList<Special, Gcd>;

}  // namespace tenon
