// Pooling of the standard, of any operand.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// x[batch, channels, ...], as the attributes of AveragePool say.
Ref average_pooled(const Call&, const Ref& x);
Ref global_average_pooled(const Ref& x);

}  // namespace tenon::converter::onnx
