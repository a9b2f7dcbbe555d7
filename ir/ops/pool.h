// Pooling over the spatial dims of x[N, C, ...].
#pragma once
#include <optional>

#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// The largest element of each window of x[N, C, ...]; NaN when one is. Padding never wins. `ceil` as in
/// window_count. Spatial attributes hold one value for every spatial dim or one each; pad also 2n: before
/// each, then after each.
struct MaxPool : WithReference<1> {
  static constexpr std::string_view name = "max_pool";
  Axes kernel = {1}, stride = {1}, pad = {0}, dilation = {1};
  bool ceil = false;
  static constexpr auto fields = std::tuple{
      field("kernel", &MaxPool::kernel), field("stride", &MaxPool::stride), field("pad", &MaxPool::pad),
      field("dilation", &MaxPool::dilation), field("ceil", &MaxPool::ceil)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("max_pool1d(self, kernel=kernel_size, stride=stride, pad=padding, "
                                           "dilation=dilation, ceil=ceil_mode)"),
                                      aten("max_pool2d(self, kernel=kernel_size, stride=stride, pad=padding, "
                                           "dilation=dilation, ceil=ceil_mode)"),
                                      aten("max_pool3d(self, kernel=kernel_size, stride=stride, pad=padding, "
                                           "dilation=dilation, ceil=ceil_mode)")};
};

/// MaxPool, and the place of each maximum (i64) in the flattened spatial dims of the input.
struct MaxPoolIndices : WithReference<1> {
  static constexpr std::string_view name = "max_pool_indices";
  Axes kernel = {1}, stride = {1}, pad = {0}, dilation = {1};
  bool ceil = false;
  static constexpr auto fields =
      std::tuple{field("kernel", &MaxPoolIndices::kernel), field("stride", &MaxPoolIndices::stride),
                 field("pad", &MaxPoolIndices::pad), field("dilation", &MaxPoolIndices::dilation),
                 field("ceil", &MaxPoolIndices::ceil)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("max_pool1d_with_indices(self, kernel=kernel_size, stride=stride, "
                                           "pad=padding, dilation=dilation, ceil=ceil_mode)"),
                                      aten("max_pool2d_with_indices(self, kernel=kernel_size, stride=stride, "
                                           "pad=padding, dilation=dilation, ceil=ceil_mode)"),
                                      aten("max_pool3d_with_indices(self, kernel=kernel_size, stride=stride, "
                                           "pad=padding, dilation=dilation, ceil=ceil_mode)")};
};

/// The sum of each window divided by `divisor`, or by the number of its elements: with count_include_pad
/// those in the padding count, those beyond it never do.
struct AvgPool : WithReference<1> {
  static constexpr std::string_view name = "avg_pool";
  Axes kernel = {1}, stride = {1}, pad = {0};
  bool ceil = false, count_include_pad = true;
  std::optional<std::int64_t> divisor;
  static constexpr auto fields = std::tuple{field("kernel", &AvgPool::kernel),
                                            field("stride", &AvgPool::stride),
                                            field("pad", &AvgPool::pad),
                                            field("ceil", &AvgPool::ceil),
                                            field("count_include_pad", &AvgPool::count_include_pad),
                                            field("divisor", &AvgPool::divisor)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {
      aten("avg_pool1d(self, kernel=kernel_size, stride=stride, pad=padding, ceil=ceil_mode, "
           "count_include_pad=count_include_pad)"),
      aten("avg_pool2d(self, kernel=kernel_size, stride=stride, pad=padding, ceil=ceil_mode, "
           "count_include_pad=count_include_pad, divisor=divisor_override)"),
      aten("avg_pool3d(self, kernel=kernel_size, stride=stride, pad=padding, ceil=ceil_mode, "
           "count_include_pad=count_include_pad, divisor=divisor_override)")};
};

/// Window i of n covers [i * size // n, ceil((i + 1) * size / n)).
struct AdaptiveAvgPool : PerElement {
  static constexpr std::string_view name = "adaptive_avg_pool";
  Shape output;
  static constexpr auto fields = std::tuple{field("output", &AdaptiveAvgPool::output)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {aten("adaptive_avg_pool1d(self, output=output_size)"),
                                      aten("adaptive_avg_pool2d(self, output=output_size)"),
                                      aten("adaptive_avg_pool3d(self, output=output_size)")};
};

/// Windows as in AdaptiveAvgPool.
struct AdaptiveMaxPool : PerElement {
  static constexpr std::string_view name = "adaptive_max_pool";
  Shape output;
  static constexpr auto fields = std::tuple{field("output", &AdaptiveMaxPool::output)};
  Type infer(const Type& x) const;
  void reference(InSpan in, OutSpan out) const;
};

/// AdaptiveMaxPool, and the place of each maximum (i64) in the flattened spatial dims of the input.
struct AdaptiveMaxPoolIndices : PerElement {
  static constexpr std::string_view name = "adaptive_max_pool_indices";
  Shape output;
  static constexpr auto fields = std::tuple{field("output", &AdaptiveMaxPoolIndices::output)};
  std::vector<Type> infer(TypeSpan x) const;
  void reference(InSpan in, OutSpan out) const;
};

using Pooling =
    OpList<MaxPool, MaxPoolIndices, AvgPool, AdaptiveAvgPool, AdaptiveMaxPool, AdaptiveMaxPoolIndices>;

}  // namespace tenon
