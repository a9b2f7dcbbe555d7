// Convolutions of the standard, of any operands.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// x[batch, channels, ...] with weight[filters, channels / groups, ...], as the attributes of Conv say.
Ref convolved(const Call&, const Ref& x, const Ref& weight, const Ref& bias);

}  // namespace tenon::converter::onnx
