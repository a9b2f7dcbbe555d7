// Numbers that a file holds as f32.
#pragma once

namespace tenon::converter::onnx {

/// The double with the shortest decimal text that rounds to this float: 0.01 for the float nearest to 0.01.
/// Exporters write such attributes from doubles.
double round_trip_double(float value);

}  // namespace tenon::converter::onnx
