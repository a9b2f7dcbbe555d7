// Gradients of the convolutions are convolutions.
#include "ir/ops/conv_gradient.h"

#include "ir/ops/conv.h"
#include "ir/ops/functions.h"

namespace tenon {
namespace {

Ref apply_conv(const Op& op, const Ref& x, const Ref& weight) { return tenon::apply(op, {x, weight}); }

// x[N, groups * C, ...] as [C, groups * N, ...].
Ref samples_as_channels(const Ref& x, std::int64_t groups) {
  Shape split = {x.shape()[0], groups, floor_div(x.shape()[1], groups)};
  split.insert(split.end(), x.shape().begin() + 2, x.shape().end());
  Axes axes = {2, 1, 0};
  for (std::size_t i = 3; i < split.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  Shape joined = {split[2], x.shape()[0] * groups};
  joined.insert(joined.end(), x.shape().begin() + 2, x.shape().end());
  return reshape(permute(reshape(x, std::move(split)), std::move(axes)), std::move(joined));
}

// small[N, groups * A, ...] as the weight [groups * A, N, ...].
Ref samples_as_depth(const Ref& small) { return transpose(small, 0, 1); }

// d weight[groups * A, B, k...] where `small` has groups * A channels and its places meet `large` (groups * B
// channels) as a convolution's output meets its input: a convolution in which stride and dilation change
// roles.
Ref of_weight(const Ref& large, const Ref& small, const Ref& weight, const Conv& conv) {
  const Conv swapped{
      .stride = conv.dilation, .pad = conv.pad, .dilation = conv.stride, .groups = conv.groups};
  Ref g = apply_conv(swapped, samples_as_channels(large, conv.groups), samples_as_depth(small));
  for (std::size_t i = 2; i < weight.rank(); ++i)  // input that no window reached gives further taps
    if (g.shape()[i] != weight.shape()[i]) g = slice(g, static_cast<std::int64_t>(i), 0, weight.shape()[i]);
  return transpose(g, 0, 1);
}

Ref of_bias(const Ref& grad) {
  Axes axes = {0};
  for (std::size_t i = 2; i < grad.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return sum(grad, std::move(axes));
}

}  // namespace

Ref spread_windows(const Ref& grad, const Ref& weight, const Conv& conv, const Shape& input) {
  const std::size_t dims = input.size() - 2;
  const Axes strides = spatial("stride", conv.stride, dims),
             dilations = spatial("dilation", conv.dilation, dims);
  const Pads pads = spatial_pads(conv.pad, dims);
  ConvTranspose back{
      .stride = conv.stride, .pad = pads.begin, .dilation = conv.dilation, .groups = conv.groups};
  back.output_pad.clear();
  for (std::size_t i = 0; i < dims; ++i) {
    const Dim reached =
        (grad.shape()[2 + i] - 1) * strides[i] + Dim(dilations[i]) * (weight.shape()[2 + i] - 1) + 1;
    const Dim beyond =
        reached - pads.begin[i] - input[2 + i];  // what the windows cover after the input's end
    if (!beyond.is_known())
      throw unsupported("the gradient of a convolution with stride {} needs the spatial size {} to be known",
                        strides[i], input[2 + i].str());
    back.pad.push_back(std::max<std::int64_t>(beyond.value(), 0));
    back.output_pad.push_back(std::max<std::int64_t>(-beyond.value(), 0));
  }
  return apply_conv(back, grad, weight);
}

std::vector<Ref> Conv::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref &x = in[0], &weight = in[1], &grad = grads[0];
  std::vector<Ref> out = {spread_windows(grad, weight, *this, x.shape()), of_weight(x, grad, weight, *this)};
  if (in.size() > 2) out.push_back(of_bias(grad));
  return out;
}

std::vector<Ref> ConvTranspose::gradient(RefSpan in, RefSpan, RefSpan grads) const {
  const Ref &x = in[0], &weight = in[1], &grad = grads[0];
  const Conv forward{.stride = stride, .pad = pad, .dilation = dilation, .groups = groups};
  std::vector<Ref> out = {apply_conv(forward, grad, weight), of_weight(grad, x, weight, forward)};
  if (in.size() > 2) out.push_back(of_bias(grad));
  return out;
}

}  // namespace tenon
