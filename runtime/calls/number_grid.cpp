#include "runtime/calls/number_grid.h"

#include <cmath>

#include "ir/ops/arithmetic.h"
#include "ir/ops/cast.h"
#include "ir/ops/shape.h"

namespace tenon {
namespace {

std::optional<float> number(const ConstantValue& v) {
  if (!(numel(v.value()->shape()) == Dim(1)) || !v.is_constant()) return std::nullopt;
  return v.evaluate().to(DType::f32).contiguous().data<float>()[0];
}

ConstantValue behind_views(ConstantValue v) {
  while (v.node() && (v.node()->is<Reshape>() || v.node()->is<Permute>() || v.node()->is<Slice>() ||
                      v.node()->is<Expand>()))
    v = v.operand(0);
  return v;
}

}  // namespace

std::optional<NumberGrid> grid_of(const Value* value, const Node* group) {
  ConstantValue v = behind_views(ConstantValue(value, group));
  if (!v.node() || !v.node()->is<Mul>() || v.value()->dtype() != DType::f32) return std::nullopt;
  const std::size_t side = number(v.operand(1)) ? 1 : 0;
  const auto scale = number(v.operand(side));
  if (!scale || !(*scale > 0) || !std::isnormal(*scale)) return std::nullopt;
  v = behind_views(v.operand(1 - side));
  float zero = 0;
  if (v.node() && v.node()->is<Sub>()) {
    const auto subtracted = number(v.operand(1));
    if (!subtracted || *subtracted != std::nearbyint(*subtracted) || std::abs(*subtracted) > 255)
      return std::nullopt;
    zero = *subtracted;
    v = behind_views(v.operand(0));
  }
  if (!v.node() || !v.node()->is<Cast>() || v.value()->dtype() != DType::f32) return std::nullopt;
  const DType integers = v.operand(0).value()->dtype();
  if (integers != DType::u8 && integers != DType::i8) return std::nullopt;
  return NumberGrid{*scale, (integers == DType::i8 ? -128 : 0) - static_cast<int>(zero)};
}

}  // namespace tenon
