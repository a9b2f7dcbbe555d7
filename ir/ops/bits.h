// The bits of numbers.
#pragma once
#include "ir/ops/spans.h"

namespace tenon {

/// The same bytes read as another type; bytes as bool: "not zero". Where its elements are smaller, a new last
/// axis holds the parts of each; where they are larger, the last axis is the parts of one, and goes.
struct Bitcast : WithReference<1> {
  static constexpr std::string_view name = "bitcast";
  DType to = DType::i32;
  static constexpr auto fields = std::tuple{field("to", &Bitcast::to)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

using Bits = OpList<Bitcast>;

}  // namespace tenon
