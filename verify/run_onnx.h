// verify/run_onnx.py, as the build embeds it (cmake/Embed.cmake).
#pragma once
#include <string_view>

namespace tenon::python {

extern const std::string_view run_onnx_py;

}  // namespace tenon::python
