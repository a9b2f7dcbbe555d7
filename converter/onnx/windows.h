// Windows that convolutions and pooling move over the spatial axes, as ONNX's attributes say.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// Of [batch, channels, ...]. Throws Error when there is none.
std::size_t spatial_rank(const Ref& x);

/// One number for each spatial axis.
struct Windows {
  Axes kernel, stride, dilation;
  Axes pad;  // before each, then after each
};

/// Uses this kernel size unless kernel_shape gives another one.
Windows windows(const Call&, const Ref& x, Axes kernel);
Axes kernel_of(const Ref& weight);
/// Checks the number of elements of a list; `what` is its name in messages.
Axes checked(Axes values, std::size_t count, std::string_view what);

/// One number for before and after where they are the same, as PyTorch's reader writes them.
Axes shortened(Axes values);
/// One number for all axes where they agree: a 3 x 3 convolution with pad=1 reads the same in every format.
Axes for_all(Axes values);

/// [batch, ..., channels] as [batch, channels, ...], and back.
Ref channels_first(const Ref& x);
Ref channels_last(const Ref& x);

}  // namespace tenon::converter::onnx
