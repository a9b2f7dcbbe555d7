// Which element types an operator of ONNX computes in.
#pragma once
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace tenon::exporter::onnx {

/// The dtype itself, or a wider one that loses nothing: i32 for small integers and bool, i64 for u32, f32 for
/// bf16 and float8. Operators on truth values take "not zero". nullopt: there is none. What ONNX Runtime's
/// CPU kernels lack counts as missing, but for f16, which it widens itself.
std::optional<DType> computed_in(std::string_view op_type, DType);

}  // namespace tenon::exporter::onnx
