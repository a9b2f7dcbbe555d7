// The transpose of sliding a window, which gradients of convolutions and poolings share.
#pragma once
#include "ir/ops/conv.h"

namespace tenon {

/// The gradient of conv's input of the given shape from that of its output. Throws Error (unsupported) when
/// the amount of input beyond the last window is not known.
Ref spread_windows(const Ref& grad, const Ref& weight, const Conv& conv, const Shape& input);

}  // namespace tenon
