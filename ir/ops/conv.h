// Convolutions.
#pragma once
#include "ir/ops/rules.h"
#include "ir/ops/spans.h"

namespace tenon {

/// Cross-correlation of x[N, Cin, ...] with weight[Cout, Cin / groups, ...], plus bias[Cout], in 1, 2 or 3
/// spatial dims. Spatial attributes hold one value for every spatial dim or one each; pad also 2n: before
/// each, then after each.
struct Conv : WithReference<2, 3> {
  static constexpr std::string_view name = "conv";
  static constexpr bool anchor = true;
  Axes stride = {1}, pad = {0}, dilation = {1};
  std::int64_t groups = 1;
  static constexpr auto fields =
      std::tuple{field("stride", &Conv::stride), field("pad", &Conv::pad), field("dilation", &Conv::dilation),
                 field("groups", &Conv::groups)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {
      aten("conv1d(input, weight, bias, stride=stride, pad=padding, dilation=dilation, groups=groups)"),
      aten("conv2d(input, weight, bias, stride=stride, pad=padding, dilation=dilation, groups=groups)"),
      aten("conv3d(input, weight, bias, stride=stride, pad=padding, dilation=dilation, groups=groups)")};
};

/// The transpose of Conv as a linear map: x[N, Cin, ...], weight[Cin, Cout / groups, ...], bias[Cout].
/// `output_pad` is added to the size at the end. Spatial attributes hold one value for every spatial dim or
/// one each; pad also 2n: before each, then after each.
struct ConvTranspose : WithReference<2, 3> {
  static constexpr std::string_view name = "conv_transpose";
  static constexpr bool anchor = true;
  Axes stride = {1}, pad = {0}, output_pad = {0}, dilation = {1};
  std::int64_t groups = 1;
  static constexpr auto fields =
      std::tuple{field("stride", &ConvTranspose::stride), field("pad", &ConvTranspose::pad),
                 field("output_pad", &ConvTranspose::output_pad), field("dilation", &ConvTranspose::dilation),
                 field("groups", &ConvTranspose::groups)};
  std::vector<Type> infer(TypeSpan in) const;
  void reference(InSpan in, OutSpan out) const;
  double flops(TypeSpan in, TypeSpan out) const;
  std::vector<Ref> gradient(RefSpan in, RefSpan out, RefSpan grads) const;
  static constexpr std::array from = {
      aten("conv_transpose1d(input, weight, bias, stride=stride, pad=padding, output_pad=output_padding, "
           "groups=groups, dilation=dilation)"),
      aten("conv_transpose2d.input(input, weight, bias, stride=stride, pad=padding, "
           "output_pad=output_padding, groups=groups, dilation=dilation)"),
      aten("conv_transpose3d.input(input, weight, bias, stride=stride, pad=padding, "
           "output_pad=output_padding, groups=groups, dilation=dilation)")};
};

using Convolutions = OpList<Conv, ConvTranspose>;

}  // namespace tenon
