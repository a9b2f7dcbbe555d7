// Products of 8-bit floats, whose elements stand for themselves times a scale.
#include <algorithm>

#include "base/error.h"
#include "converter/aten/table.h"
#include "ir/ops/functions.h"

namespace tenon::converter {

namespace {

/// A scale of the whole matrix, or of each of its lines, that multiplies the product: [], [M, 1] or [1, N].
Ref scale_of_product(const Ref& scale, std::string_view argument, const Ref& x, std::size_t axis) {
  if (scale.dtype() != DType::f32) throw error("{} is {}, not f32", argument, scale.type().str());
  if (numel(scale.shape()) == Dim(1)) return reshape(scale, {});
  Shape lines(2, Dim(1));
  lines[axis] = x.shape()[axis];
  if (Shape(scale.shape().begin(), scale.shape().end()) == lines) return scale;
  throw unsupported("{} is {} for {}", argument, scale.type().str(), x.type().str())
      .hint(axis == 0 ? "one scale, or one for each row: [M, 1]"
                      : "one scale, or one for each column: [1, N]");
}

/// x[M, K] w[K, N] in f32, times the scales, plus the bias.
Ref scaled_product(Call& call, const Ref& a, const Ref& b) {
  const Ref x = call.tensor("self"), w = call.tensor("mat2");
  if (!is_float8(x.dtype()) || !is_float8(w.dtype()) || x.rank() != 2 || w.rank() != 2)
    throw error("{} of {} and {}, which are no matrices of float8", call.name, x.type().str(),
                w.type().str());
  const Ref scale = scale_of_product(a, "scale_a", x, 0) * scale_of_product(b, "scale_b", w, 1);
  const Ref y = matmul(cast(DType::f32, x), cast(DType::f32, w)) * scale;
  const Ref bias = call.optional_tensor("bias");
  return bias ? y + cast(DType::f32, bias) : y;
}

DType result_dtype(Call& call) {
  call.ignore({"use_fast_accum"});
  return call.dtype("out_dtype").value_or(call.tensor("self").dtype());
}

/// scale_result matters for float8 results alone, and divides them, as on PyTorch's CPU.
Results scaled_mm(Call& call) {
  const DType dtype = result_dtype(call);
  const Ref y = scaled_product(call, call.tensor("scale_a"), call.tensor("scale_b"));
  const Ref scale = call.optional_tensor("scale_result");
  if (!scale || !is_float8(dtype)) return cast(dtype, y);
  if (numel(scale.shape()) != Dim(1)) throw error("scale_result is {}, not one number", scale.type().str());
  return cast(dtype, y / reshape(scale, {}));
}

/// The scale of one side: torch.nn.functional.ScalingType's 0 (of the whole matrix) or 1 (of its lines).
Ref only_scale(Call& call, std::string_view argument, std::string_view recipe, std::string_view swizzle) {
  const auto recipes = call.integers(recipe), swizzles = call.integers(swizzle, {});
  const auto scales = call.tensors(argument);
  const bool is_swizzled =
      std::any_of(swizzles.begin(), swizzles.end(), [](std::int64_t s) { return s != 0; });
  if (scales.size() != 1 || recipes.size() != 1 || recipes[0] < 0 || recipes[0] > 1 || is_swizzled)
    throw unsupported("{} with scales of blocks", call.name).hint("scale the whole matrix or its lines");
  return call.build.read(scales[0]);
}

Results scaled_mm_v2(Call& call) {
  const Ref a = only_scale(call, "scale_a", "recipe_a", "swizzle_a");
  const Ref b = only_scale(call, "scale_b", "recipe_b", "swizzle_b");
  const DType dtype = result_dtype(call);
  if (!call.integers("contraction_dim", {}).empty()) throw unsupported("{} with contraction_dim", call.name);
  return cast(dtype, scaled_product(call, a, b));
}

constexpr AtenEntry scaled_product_table[] = {
    {"_scaled_mm", scaled_mm},
    {"_scaled_mm_v2", scaled_mm_v2},
};

}  // namespace

std::span<const AtenEntry> scaled_product_entries() { return scaled_product_table; }

}  // namespace tenon::converter
