// Normalisations. 16-bit floats are computed in f32.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// With given statistics, per channel (axis 1): (x - mean) / sqrt(variance + eps) * weight + bias.
struct BatchNorm : Composite<5> {
  static constexpr std::string_view name = "batch_norm";
  double eps = 1e-5;
  static constexpr auto fields = std::tuple{field("eps", &BatchNorm::eps)};
  Type infer(const Type& x, const Type& mean, const Type& variance, const Type& weight,
             const Type& bias) const;
  Ref decompose(Ref x, Ref mean, Ref variance, Ref weight, Ref bias) const;
};

/// Over the last `rank` axes: (x - mean) / sqrt(biased variance + eps) * weight + bias; weight and bias have
/// the shape of these axes.
struct LayerNorm : Composite<1, 3> {
  static constexpr std::string_view name = "layer_norm";
  std::int64_t rank = 1;
  double eps = 1e-5;
  static constexpr auto fields = std::tuple{field("rank", &LayerNorm::rank), field("eps", &LayerNorm::eps)};
  Axes row_axes(std::size_t of) const { return last_axes(of, rank); }
  std::vector<Type> infer(TypeSpan in) const;
  std::vector<Ref> decompose(RefSpan in) const;
};

/// Per sample over each group of channels (axis 1) and all that follows; weight[C] and bias[C] per channel.
struct GroupNorm : Composite<1, 3> {
  static constexpr std::string_view name = "group_norm";
  std::int64_t groups = 1;
  double eps = 1e-5;
  static constexpr auto fields =
      std::tuple{field("groups", &GroupNorm::groups), field("eps", &GroupNorm::eps)};
  std::vector<Type> infer(TypeSpan in) const;
  std::vector<Ref> decompose(RefSpan in) const;
};

/// Over the last `rank` axes: x / sqrt(mean(x^2) + eps) * weight.
struct RmsNorm : Composite<1, 2> {
  static constexpr std::string_view name = "rms_norm";
  std::int64_t rank = 1;
  double eps = 1e-5;
  static constexpr auto fields = std::tuple{field("rank", &RmsNorm::rank), field("eps", &RmsNorm::eps)};
  Axes row_axes(std::size_t of) const { return last_axes(of, rank); }
  std::vector<Type> infer(TypeSpan in) const;
  std::vector<Ref> decompose(RefSpan in) const;
};

using Norms = OpList<BatchNorm, LayerNorm, GroupNorm, RmsNorm>;

}  // namespace tenon
