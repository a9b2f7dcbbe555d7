// Change of dtype.
#pragma once
#include "ir/define.h"

namespace tenon {

/// Floats to integers truncate; to bool is "not zero".
struct Cast : Pointwise<1> {
  static constexpr std::string_view name = "cast";
  DType to = DType::f32;
  static constexpr auto fields = std::tuple{field("to", &Cast::to)};
  Expr value(Expr x) const { return cast(to, x); }
  static constexpr std::array from = {onnx("Cast(x, to=to)")};
};

using Casts = OpList<Cast>;

}  // namespace tenon
