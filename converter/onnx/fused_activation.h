// The activation that com.microsoft's fused operators name in an attribute.
#pragma once
#include "converter/onnx/call.h"

namespace tenon::converter::onnx {

/// Applies the named activation to y; returns y itself when none is named. The parameters are
/// activation_params, or activation_alpha and activation_beta.
Ref activated(const Call&, const Ref& y);

}  // namespace tenon::converter::onnx
