// Numbers that a file holds as f32.
#pragma once

namespace tenon::converter::onnx {

/// The number that was written: 0.01 where the file has its nearest float.
double as_written(float value);

}  // namespace tenon::converter::onnx
